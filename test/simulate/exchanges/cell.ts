/**
 * One life of the Cell in the simulation of exchanges: its real parts, put together as the Cell object does. The disk keeps
 * what outlives it: capacity, revisions, the isolates that have had requests, and the rows of requests that were given up.
 */
import { isLive } from "../../../edge/domain/admission/admission-entry.ts";
import { AdmissionMachine } from "../../../edge/domain/admission/admission-machine.ts";
import type { AdmissionOptions } from "../../../edge/domain/admission/admission-options.ts";
import type { BudgetPort } from "../../../edge/domain/admission/budget-port.ts";
import type {
  AdmissionAnswer,
  ExchangeAnswer,
  ExchangeMessage,
  SessionOpening,
} from "../../../edge/domain/admission/exchange-messages.ts";
import { GivenUpRows } from "../../../edge/domain/admission/given-up-rows.ts";
import { chargedTokens } from "../../../edge/domain/admission/request-end.ts";
import type { AdmissionRequest, Decision, Settlement, Stale } from "../../../edge/domain/admission/rpc.ts";
import { Revisions } from "../../../edge/domain/cell/revisions.ts";
import { schedulerEvents } from "../../../edge/domain/cell/scheduler-events.ts";
import { createScheduler } from "../../../edge/domain/fairshare/scheduler.ts";
import type { GrantCheck, Scheduler } from "../../../edge/domain/fairshare/types.ts";
import type { LedgerBatch } from "../../../edge/domain/ledger/rpc.ts";
import { BudgetGateway } from "../../../edge/objects/cell/budget-gateway.ts";
import { LedgerWriter } from "../../../edge/objects/cell/ledger-writer.ts";
import { type MemberSession, Members } from "../../../edge/objects/cell/members.ts";
import { ReturnHold } from "../../../edge/objects/cell/return-hold.ts";
import type { BudgetObjectApi } from "../../../edge/objects/object-ports.ts";
import type { FairshareAlgorithm } from "../../../shared/fairshare/entitled-slots.ts";
import type { UsageRow } from "../../../shared/usage/usage-row.ts";
import type { Change, RevItem } from "../../../shared/wire/internal.ts";
import { thirtyDayMonthOf } from "../../harness/edge/budget/simulation.ts";
import type { GivenUpRowsInMemory } from "../../harness/edge/cell/given-up-rows-in-memory.ts";
import type { Context, Timeline } from "./timeline.ts";
import type { Truth } from "./truth.ts";

export interface Disk {
  capacity: number;
  busyMembers: ReadonlySet<string>;
  revisions: readonly RevItem[];
  life: number;
  readonly givenUpRows: GivenUpRowsInMemory;
}

/** What every life of the Cell gets. */
interface Surroundings {
  readonly algorithm: FairshareAlgorithm;
  readonly time: Timeline;
  readonly truth: Truth;
  /** A tenant's budget object, as code of this life calls it. */
  readonly budgetOf: (life: Context, tenantId: string) => BudgetObjectApi;
  readonly append: (batch: LedgerBatch) => Promise<void>;
}

/** Admission that tells the truth of what it grants and gives up. */
class WatchedAdmission extends AdmissionMachine {
  readonly #truth: Truth;
  readonly #life: Context;
  readonly #requests = new Map<string, AdmissionRequest>();
  readonly #givenUp = new Set<string>();

  constructor(truth: Truth, life: Context, options: AdmissionOptions, schedulerOf: (check: GrantCheck) => Scheduler) {
    super(options, schedulerOf);
    this.#truth = truth;
    this.#life = life;
  }

  override ask(request: AdmissionRequest, member: string): AdmissionAnswer | null {
    const before = this.liveOf(member).find((entry) => entry.request.requestId === request.requestId);
    this.#requests.set(request.requestId, request);
    this.#givenUp.delete(request.requestId);
    const keeps = before !== undefined && before.state !== "stale" && request.anew !== true;
    const answer = super.ask(request, member);
    if (answer === null || answer.verdict === "stale" || keeps) return answer;
    this.#truth.admitted(request);
    this.granted(request, answer);
    return answer;
  }

  override waits(requestId: string): Decision | Stale | null {
    const wasLost = this.#givenUp.delete(requestId);
    const answer = super.waits(requestId);
    const request = this.#requests.get(requestId);
    if (!wasLost || request === undefined || answer?.verdict === "stale") return answer;
    this.#truth.admitted(request);
    if (answer !== null) this.granted(request, answer);
    return answer;
  }

  override async end(settlement: Settlement): Promise<void> {
    const { request_id: id } = settlement.row;
    // Its client left before it heard of its grant.
    if (this.#truth.running.get(id)?.heard === false) this.#truth.end(id, 0);
    await super.end(settlement);
  }

  override giveUp(requestId: string): void {
    // What it gives back may be granted in the same turn.
    const entry = [...this.entries].find(({ request }) => request.requestId === requestId);
    const run = entry !== undefined && isLive(entry) ? this.#truth.running.get(requestId) : undefined;
    if (run?.heard === false) this.#truth.end(run.id, 0);
    else if (run !== undefined) this.#truth.uncount(run, "it was given up");
    this.#givenUp.add(requestId);
    super.giveUp(requestId);
  }

  /** A request was granted, as its isolate will hear. */
  granted(request: AdmissionRequest, answer: AdmissionAnswer): void {
    if (answer.verdict === "granted") this.#truth.grant(request, this.#life);
  }
}

export class CellLife {
  readonly context: Context;
  readonly scheduler: Scheduler;
  readonly admission: WatchedAdmission;
  readonly #members: Members;
  readonly #disk: Disk;
  readonly #around: Surroundings;
  readonly #revisions = new Revisions();

  /** Must be called within `context`. */
  constructor(context: Context, disk: Disk, around: Surroundings) {
    this.context = context;
    this.#disk = disk;
    this.#around = around;
    const { time, algorithm, append, truth } = around;
    const now = () => time.nowMs;
    const later = (delayMs: number, run: () => void) => void setTimeout(run, delayMs);
    this.#revisions.note(disk.revisions, now());
    const writer = new LedgerWriter("c", 1, () => ({ append }) as never);
    const budget = new BudgetGateway({
      cell: "c",
      failOpen: false,
      now,
      nextLife: () => (disk.life += 1),
      monthOf: thirtyDayMonthOf,
      budgetOf: (tenantId) => around.budgetOf(context, tenantId),
      late: { put: (decisions) => this.admission.applyBudgetDecisions(decisions) },
      raise: () => undefined,
    });
    const givenUpRows = new GivenUpRows({
      store: disk.givenUpRows,
      complete: async (row) => void (await writer.write(row, true)),
      now,
      later,
      failed: (error) => {
        throw error;
      },
    });
    let made!: Scheduler;
    this.admission = new WatchedAdmission(
      truth,
      context,
      {
        cell: "c",
        budget: this.#watched(budget),
        revisions: this.#revisions,
        rows: { complete: async (row, orphan) => void (await writer.write(row, orphan)) },
        givenUpRows,
        maxQueuedPerTenant: 0,
        now,
        later,
        entered: () => undefined,
        changed: () => undefined,
        decided: (entry, answer) => {
          this.admission.granted(entry.request, answer);
          this.#members.decided(entry, answer);
        },
        isQuiet: (member) => this.#members.isQuiet(member),
      },
      (grantCheck) => {
        made = createScheduler({ algorithm, maxInFlight: disk.capacity, grantCheck });
        const apply = made.apply.bind(made);
        made.apply = (event, nowMs) => {
          const grants = apply(event, nowMs);
          for (const { requestId } of grants) truth.slot(requestId);
          return grants;
        };
        return made;
      },
    );
    this.scheduler = made;
    this.#members = new Members({
      admission: this.admission,
      revisions: this.#revisions,
      record: async ({ row }, again) => void (await writer.write(row, again === true)),
      level: async () => null,
      later,
      isBack: (member) => returnHold.isBack(member),
      silence: { heard: () => false, isQuiet: () => false, pass: () => ({ quiet: [], gone: [] }) },
      failed: (error) => {
        throw error;
      },
    });
    givenUpRows.recover(disk.givenUpRows.all, (requestId) => this.admission.isKnown(requestId));
    const hold = (on: boolean) => this.admission.apply({ type: "hold", on });
    const returnHold = new ReturnHold(disk.busyMembers, { hold, later });
  }

  openSession(
    member: SessionOpening,
    message: ExchangeMessage,
  ): { readonly session: MemberSession; readonly answer: ExchangeAnswer } {
    return this.#members.open(member, message);
  }

  exchange(session: MemberSession, message: ExchangeMessage): ExchangeAnswer {
    return this.#members.exchange(session, message);
  }

  async news(session: MemberSession): Promise<ExchangeAnswer> {
    return await this.#members.news(session);
  }

  end(session: MemberSession): void {
    this.#members.end(session);
  }

  async settleOrphan(row: UsageRow): Promise<void> {
    await this.admission.end({ row, actualTokens: chargedTokens(row) });
  }

  async invalidate(changes: readonly Change[]): Promise<void> {
    const nowMs = this.#around.time.nowMs;
    this.#disk.revisions = [...this.#disk.revisions, ...this.#revisions.note(changes, nowMs)];
    const current = this.#revisions.current(changes);
    for (const event of schedulerEvents(current)) this.admission.apply(event);
  }

  async setCapacity(maxInFlight: number): Promise<void> {
    this.#disk.capacity = maxInFlight;
    this.admission.apply({ type: "capacity", maxInFlight });
  }

  /** Checks every charge against the law that a request is charged once. */
  #watched(budget: BudgetGateway): BudgetPort {
    const settle: BudgetPort["settle"] = (request, used, goesOn) => {
      this.#around.truth.charged(request.requestId, this.context, used.tokens);
      budget.settle(request, used, goesOn);
    };
    return {
      expect: (request) => budget.expect(request),
      reserve: (request) => budget.reserve(request),
      withdraw: (request) => budget.withdraw(request),
      settle,
      adopt: (request) => budget.adopt(request),
      admitUnchecked: (request) => budget.admitUnchecked(request),
      readmit: (request) => budget.readmit(request),
    };
  }
}
