/**
 * One life of the Cell in the simulation of exchanges: its real parts, composed as the Cell object composes them. The
 * simulated disk keeps what a new life of the Cell needs: capacity, revisions, and that the Cell was in use.
 */

import type { ExchangeAnswer, ExchangeMessage } from "../../../edge/domain/admission/exchange-messages.ts";
import type {
  AdmissionRequest,
  Admitted,
  Decision,
  LedgerBatch,
  Settlement,
  Stale,
} from "../../../edge/domain/admission/rpc.ts";
import { thirtyDayMonthOf } from "../../../edge/domain/budget/testing/simulation.ts";
import { Revisions } from "../../../edge/domain/cell/revisions.ts";
import { schedulerEvents } from "../../../edge/domain/cell/scheduler-events.ts";
import { createScheduler } from "../../../edge/domain/fairshare/scheduler.ts";
import type { FairshareAlgorithm, Scheduler } from "../../../edge/domain/fairshare/types.ts";
import { AdmissionController } from "../../../edge/objects/cell/admission-controller.ts";
import type { AdmissionEntry, BudgetPort } from "../../../edge/objects/cell/admission-entry.ts";
import { BudgetGateway, type BudgetObjectApi } from "../../../edge/objects/cell/budget-gateway.ts";
import { ExchangeController, type ExchangeSessionState } from "../../../edge/objects/cell/exchange-controller.ts";
import { LedgerWriter } from "../../../edge/objects/cell/ledger-writer.ts";
import type { Change, RevItem } from "../../../shared/internal.ts";
import type { UsageRow } from "../../../shared/usage-row.ts";
import type { Context, Timeline } from "./timeline.ts";
import type { ExchangeRun, Truth } from "./truth.ts";

export interface Disk {
  capacity: number;
  busy: boolean;
  revisions: readonly RevItem[];
  life: number;
}

/** What every life of the Cell is given. */
export interface Surroundings {
  readonly algorithm: FairshareAlgorithm;
  readonly time: Timeline;
  readonly truth: Truth;
  /** A tenant's budget object, as code of this life of the Cell calls it. */
  readonly budgetOf: (life: Context, tenantId: string) => BudgetObjectApi;
  readonly append: (batch: LedgerBatch) => Promise<void>;
}

/** The same time as in the Cell object. */
const ADOPTION_HOLD_MS = 500;

export class CellLife {
  readonly context: Context;
  readonly scheduler: Scheduler;
  readonly desk: AdmissionController;
  readonly #disk: Disk;
  readonly #around: Surroundings;
  readonly #ledgerWriter: LedgerWriter;
  readonly #budget: BudgetGateway;
  readonly #exchanges: ExchangeController;
  readonly #revisions = new Revisions();
  /** Entries that were abandoned, perhaps in the same turn as their grant, which is reported only afterwards. */
  readonly #gone = new WeakSet<AdmissionEntry>();
  /** Ids of requests that were settled in this life, perhaps in the same turn as their grant. */
  readonly #settled = new Set<string>();

  /** Must be called within `context`. */
  constructor(context: Context, disk: Disk, around: Surroundings) {
    this.context = context;
    this.#disk = disk;
    this.#around = around;
    const { time, algorithm, append } = around;
    const now = () => time.nowMs;
    const later = (delayMs: number, run: () => void) => void setTimeout(run, delayMs);
    this.#revisions.note(disk.revisions, now());
    const judge = {
      mayHave: (requestId: string) => this.desk.mayHave(requestId),
      deferred: (requestId: string) => this.desk.deferred(requestId),
    };
    this.scheduler = createScheduler({ algorithm, maxInFlight: disk.capacity, judge });
    const apply = this.scheduler.apply.bind(this.scheduler);
    this.scheduler.apply = (event, nowMs) => {
      const grants = apply(event, nowMs);
      for (const { requestId } of grants) around.truth.slot(requestId);
      return grants;
    };
    this.#ledgerWriter = new LedgerWriter("c", 1, () => ({ append }) as never);
    this.#budget = new BudgetGateway({
      cell: "c",
      failOpen: false,
      now,
      nextLife: () => (disk.life += 1),
      monthOf: thirtyDayMonthOf,
      budgetOf: (tenantId) => around.budgetOf(context, tenantId),
      judged: (requestId, verdict) => this.desk.budgetDecided(requestId, verdict),
      deliverAlert: async () => undefined,
      raise: () => undefined,
    });
    this.desk = new AdmissionController({
      cell: "c",
      scheduler: this.scheduler,
      budget: this.#watched(this.#budget),
      revisions: this.#revisions,
      maxQueuedPerTenant: 0,
      now,
      later,
      complete: async (row, orphan) => void (await this.#ledgerWriter.write(row, orphan)),
      changed: () => this.#changed(),
    });
    this.#exchanges = new ExchangeController({
      desk: {
        knows: (requestId) => this.desk.knows(requestId),
        holds: (entry) => this.desk.holds(entry),
        arrive: (request) => {
          this.#around.truth.admitted(request);
          const entry = this.desk.arrive(request);
          this.#follow(entry, "exchange");
          return entry;
        },
        decision: async (entry) => await this.desk.decision(entry),
        inUse: (entry) => this.desk.inUse(entry),
        settle: async (entry, settlement) => await this.settle(entry, settlement),
        abandon: (entry, mayHaveRow) => this.abandon(entry, mayHaveRow),
      },
      revisions: this.#revisions,
      rows: {
        record: async ({ row }) => void (await this.#ledgerWriter.write(row, false)),
        settleOrphan: async ({ row }) => await this.settleOrphan(row),
      },
      level: async () => null,
      later,
      failed: (error) => {
        throw error;
      },
    });
    if (!disk.busy) return;
    this.desk.apply({ type: "hold", on: true });
    later(ADOPTION_HOLD_MS, () => this.desk.apply({ type: "hold", on: false }));
  }

  admit(request: AdmissionRequest): Admitted<AdmissionEntry> {
    const items = this.#revisions.staleAmong(request.revs);
    if (items.length > 0) return { verdict: "stale", items };
    this.#around.truth.admitted(request);
    const entry = this.desk.arrive(request);
    this.#follow(entry, "call");
    const { decision } = entry;
    return decision === null || decision.verdict === "stale"
      ? { verdict: "waiting", permit: entry }
      : { ...decision, permit: entry };
  }

  hold(requestId: string): AdmissionEntry | null {
    const { seated } = this.desk;
    const entry = this.desk.hold(requestId);
    if (entry === null) return null;
    const isBack = this.desk.seated > seated;
    if (isBack && entry.decision?.verdict !== "stale") this.#around.truth.admitted(entry.ask);
    if (isBack || entry.decision === null) this.#follow(entry, "call");
    return entry;
  }

  openSession(message: ExchangeMessage): { readonly session: ExchangeSessionState; readonly answer: ExchangeAnswer } {
    return this.#exchanges.open(message);
  }

  exchange(session: ExchangeSessionState, message: ExchangeMessage): ExchangeAnswer {
    return this.#exchanges.exchange(session, message);
  }

  async news(session: ExchangeSessionState): Promise<ExchangeAnswer> {
    return await this.#exchanges.news(session);
  }

  end(session: ExchangeSessionState): void {
    this.#exchanges.end(session);
  }

  adopt(request: AdmissionRequest): AdmissionEntry {
    return this.desk.adopt(request);
  }

  async settle(entry: AdmissionEntry, settlement: Settlement): Promise<void> {
    const { truth } = this.#around;
    // Its client left before its isolate received the grant.
    const { request_id: id } = settlement.row;
    if (this.desk.holds(entry) && truth.running.get(id)?.heard === false) truth.end(id, 0);
    if (this.desk.holds(entry)) this.#settled.add(id);
    await this.desk.settle(entry, settlement);
  }

  /** The holder of the permit has ended. */
  abandon(entry: AdmissionEntry, mayHaveRow?: boolean): void {
    const { truth } = this.#around;
    const run = truth.running.get(entry.ask.requestId);
    const held = this.desk.seated;
    this.desk.abandon(entry, mayHaveRow);
    this.#gone.add(entry);
    if (run === undefined || this.desk.seated === held) return;
    if (!run.heard) truth.end(run.id, 0);
    else truth.uncount(run, "its permit was lost");
  }

  async settleOrphan(row: UsageRow): Promise<void> {
    const { truth } = this.#around;
    // The row of a request whose admission request arrived after the request had ended.
    if (truth.running.get(row.request_id)?.heard === false) truth.end(row.request_id, 0);
    this.#settled.add(row.request_id);
    this.desk.settledElsewhere(row);
    await this.#ledgerWriter.write(row, true);
  }

  async invalidate(changes: readonly Change[]): Promise<void> {
    const nowMs = this.#around.time.nowMs;
    this.#disk.revisions = [...this.#disk.revisions, ...this.#revisions.note(changes, nowMs)];
    const current = this.#revisions.current(changes);
    for (const event of schedulerEvents(current)) this.desk.apply(event);
  }

  async setCapacity(maxInFlight: number): Promise<void> {
    this.#disk.capacity = maxInFlight;
    this.desk.apply({ type: "capacity", maxInFlight });
  }

  /** Checks a grant against the laws when it is made. `by`: how a grant that is made at once is sent. */
  #follow(entry: AdmissionEntry, by: ExchangeRun["by"]): void {
    const { truth } = this.#around;
    const decided = ({ verdict }: Decision | Stale, grantedBy: ExchangeRun["by"] = "call"): void => {
      const isOver = this.#gone.has(entry) || this.#settled.has(entry.ask.requestId);
      if (verdict === "granted" && !isOver) truth.grant(entry.ask, grantedBy, this.context);
    };
    if (entry.decision !== null) decided(entry.decision, by);
    else
      void this.desk.decision(entry).then(
        (decision) => decided(decision),
        () => undefined,
      );
  }

  /** Checks that a request is charged only once. */
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
      readmit: (request) => budget.readmit(request),
    };
  }

  #changed(): void {
    if (this.desk.seated > 0) this.#disk.busy = true;
  }
}
