/** A Cell's admission for tests, with the real scheduler and the real budgets behind calls that a test delays or fails. */

import { MemberSilence } from "../../../../edge/cluster/member-silence.ts";
import type { RequestState } from "../../../../edge/domain/admission/admission-entry.ts";
import { AdmissionMachine } from "../../../../edge/domain/admission/admission-machine.ts";
import type { AdmissionAnswer, RowRecord } from "../../../../edge/domain/admission/exchange-messages.ts";
import { GivenUpRows } from "../../../../edge/domain/admission/given-up-rows.ts";
import type { AdmissionRequest, Decision, Stale } from "../../../../edge/domain/admission/rpc.ts";
import { FIRST_LIFE } from "../../../../edge/domain/budget/cell-life.ts";
import { Revisions } from "../../../../edge/domain/cell/revisions.ts";
import { createScheduler } from "../../../../edge/domain/fairshare/scheduler.ts";
import type { Scheduler } from "../../../../edge/domain/fairshare/types.ts";
import { BudgetGateway } from "../../../../edge/objects/cell/budget-gateway.ts";
import { Members } from "../../../../edge/objects/cell/members.ts";
import { ReturnHold } from "../../../../edge/objects/cell/return-hold.ts";
import type { BudgetObjectApi } from "../../../../edge/objects/object-ports.ts";
import type { UsageRow } from "../../../../shared/usage/usage-row.ts";
import { thirtyDayMonthOf } from "../budget/simulation.ts";
import { GivenUpRowsInMemory } from "./given-up-rows-in-memory.ts";
import { TestBudgets } from "./test-budgets.ts";

/** The isolate of a request if a test does not name one. */
const ISOLATE = "isolate";

/** A request that was asked for, as its isolate sees it. */
export interface AskedRequest {
  readonly request: AdmissionRequest;
  /** The newest decision, as it was told; null while it waits. */
  readonly decision: Decision | Stale | null;
  /** Null: the Cell gave it up, or it has ended. */
  readonly state: RequestState | null;
}

/** What a test may put in the place of the usual parts: one life, whose budgets are always within reach. */
interface Surroundings {
  readonly now: () => number;
  readonly later: (delayMs: number, run: () => void) => void;
  readonly nextLife: () => number;
  readonly budgetOf: (tenantId: string) => BudgetObjectApi;
  /** The isolates that had requests when the Cell was reset. */
  readonly before: readonly string[];
  /** The rows that an earlier life kept. */
  readonly givenUpRows: GivenUpRowsInMemory;
}

/** A Cell's admission at time 0; a test moves `nowMs`. Isolates are silent after 10 s, in sweeps of 2 s. */
export class AdmissionHarness {
  nowMs = 0;
  readonly rows: UsageRow[] = [];
  /** Requests whose rows were handed in as rows that may have come before. */
  readonly orphans: string[] = [];
  /** Whether rows are taken. */
  hasRoom = true;
  readonly revisions = new Revisions();
  readonly budgets = new TestBudgets(() => this.nowMs);
  readonly scheduler: Scheduler;
  readonly admission: AdmissionMachine;
  readonly members: Members;
  /** Takes the row of a request that asked for no slot. */
  record: (record: RowRecord, again: boolean) => Promise<void> = async () => undefined;
  readonly failures: unknown[] = [];
  /** Called at every change, as the Cell writes its mark then. */
  changed = (): void => undefined;
  /** The requests that were granted, in order. */
  readonly granted: string[] = [];
  readonly #answers = new Map<string, Decision | Stale>();

  constructor(
    algorithm: "weighted" | "hierarchical",
    maxInFlight: number,
    maxQueuedPerTenant = 10_000,
    {
      now = () => this.nowMs,
      later = (delayMs, run) => void setTimeout(run, delayMs),
      nextLife = () => FIRST_LIFE,
      budgetOf = (tenantId) => this.budgets.budgetOf(tenantId),
      before = [],
      givenUpRows: store = new GivenUpRowsInMemory(),
    }: Partial<Surroundings> = {},
  ) {
    const budget = new BudgetGateway({
      cell: "c",
      failOpen: false,
      now,
      nextLife,
      monthOf: thirtyDayMonthOf,
      budgetOf,
      late: { put: (decisions) => this.admission.applyBudgetDecisions(decisions) },
      raise: () => undefined,
    });
    const complete = async (row: UsageRow): Promise<void> => this.#complete(row, true);
    const givenUpRows = new GivenUpRows({ store, complete, now, later, failed: (error) => this.failures.push(error) });
    let scheduler!: Scheduler;
    this.admission = new AdmissionMachine(
      {
        cell: "c",
        budget,
        revisions: this.revisions,
        maxQueuedPerTenant,
        now,
        later,
        rows: { complete: async (row, orphan) => this.#complete(row, orphan) },
        givenUpRows,
        entered: () => undefined,
        changed: () => this.changed(),
        decided: (entry, answer) => {
          this.#note(entry.request.requestId, answer);
          this.members.decided(entry, answer);
        },
        isQuiet: (member) => this.members.isQuiet(member),
      },
      (grantCheck) => {
        scheduler = createScheduler({ algorithm, maxInFlight, grantCheck });
        return scheduler;
      },
    );
    this.scheduler = scheduler;
    this.members = new Members({
      admission: this.admission,
      revisions: this.revisions,
      record: async (record, again = false) => await this.record(record, again),
      level: async () => ({ capTokens: 100, levelTokens: 7 }) as never,
      later,
      silence: new MemberSilence(5_000, 2_000),
      isBack: (member) => returnHold.isBack(member),
      failed: (error) => this.failures.push(error),
    });
    givenUpRows.recover(store.all, (requestId) => this.admission.isKnown(requestId));
    const returnHold = new ReturnHold(before, { hold: (on) => this.admission.apply({ type: "hold", on }), later });
  }

  /** Asks for a slot, as one isolate of several. */
  ask = (request: AdmissionRequest, member = ISOLATE): AskedRequest => {
    this.#note(request.requestId, this.admission.ask(request, member));
    const decisionNow = () => this.#answers.get(request.requestId) ?? null;
    const stateNow = () => this.stateOf(request.requestId, member);
    return {
      request,
      get decision() {
        return decisionNow();
      },
      get state() {
        return stateNow();
      },
    };
  };

  /** Ends a request with the row that it was sent with, or with these parts of it. */
  end = async ({ request }: Pick<AskedRequest, "request">, actualTokens: number, row: Partial<UsageRow> = {}) =>
    await this.admission.end({ row: { ...request.row, ...row }, actualTokens });

  stateOf(requestId: string, member = ISOLATE): RequestState | null {
    const entry = this.admission.liveOf(member).find(({ request }) => request.requestId === requestId);
    return entry?.state ?? null;
  }

  /** How many requests hold a slot, wait, and are entered at all. */
  get load() {
    const { inFlight, queued } = this.scheduler;
    return { inFlight, queued, entries: this.admission.size };
  }

  async #complete(row: UsageRow, orphan: boolean): Promise<void> {
    if (!this.hasRoom) throw new Error("too many rows wait for the ledger");
    if (orphan) this.orphans.push(row.request_id);
    // The Ledger looks an orphan up among all rows, any other row among the orphans only.
    const isLookedUp = this.orphans.includes(row.request_id);
    if (isLookedUp && this.rows.some((other) => other.request_id === row.request_id)) return;
    this.rows.push(row);
  }

  #note(requestId: string, answer: AdmissionAnswer | null): void {
    if (answer === null || this.#answers.get(requestId) === answer) return;
    if (answer.verdict === "waiting") this.#answers.delete(requestId);
    else this.#answers.set(requestId, answer);
    if (answer.verdict === "granted") this.granted.push(requestId);
  }
}
