/**
 * One life of the Cell in the simulation of exchanges: its real parts, put together as the Cell object does. What outlives it is
 * on its disk: capacity, revisions, and that it was busy.
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
import { AdmissionEntries } from "../../../edge/objects/cell/admission-entries.ts";
import { type AdmissionEntry, type BudgetPort, LateDecisions } from "../../../edge/objects/cell/admission-entry.ts";
import { BudgetGateway } from "../../../edge/objects/cell/budget-gateway.ts";
import { ExchangeController, type ExchangeSessionState } from "../../../edge/objects/cell/exchange-controller.ts";
import { LedgerWriter } from "../../../edge/objects/cell/ledger-writer.ts";
import type { BudgetObjectApi } from "../../../edge/objects/object-ports.ts";
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
interface Surroundings {
  readonly algorithm: FairshareAlgorithm;
  readonly time: Timeline;
  readonly truth: Truth;
  /** A tenant's budget object, as code of this life calls it. */
  readonly budgetOf: (life: Context, tenantId: string) => BudgetObjectApi;
  readonly append: (batch: LedgerBatch) => Promise<void>;
}

/** As the Cell object's. */
const ADOPTION_HOLD_MS = 500;

export class CellLife {
  readonly context: Context;
  readonly scheduler: Scheduler;
  readonly desk: AdmissionController;
  readonly #disk: Disk;
  readonly #around: Surroundings;
  readonly #courier: LedgerWriter;
  readonly #budget: BudgetGateway;
  readonly #exchanges: ExchangeController;
  readonly #revisions = new Revisions();
  /** Given up; perhaps in the turn of their grant, which is told only after it. */
  readonly #gone = new WeakSet<AdmissionEntry>();
  /** Requests that were settled here, perhaps in that turn too. */
  readonly #settled = new Set<string>();

  /** To be made within `context`. */
  constructor(context: Context, disk: Disk, around: Surroundings) {
    this.context = context;
    this.#disk = disk;
    this.#around = around;
    const { time, algorithm, append } = around;
    const now = () => time.nowMs;
    const later = (delayMs: number, run: () => void) => void setTimeout(run, delayMs);
    this.#revisions.note(disk.revisions, now());
    const entries = new AdmissionEntries(this.#revisions, now);
    const late = new LateDecisions();
    this.scheduler = createScheduler({ algorithm, maxInFlight: disk.capacity, grantCheck: entries });
    const apply = this.scheduler.apply.bind(this.scheduler);
    this.scheduler.apply = (event, nowMs) => {
      const grants = apply(event, nowMs);
      for (const { requestId } of grants) around.truth.slot(requestId);
      return grants;
    };
    this.#courier = new LedgerWriter("c", 1, () => ({ append }) as never);
    this.#budget = new BudgetGateway({
      cell: "c",
      failOpen: false,
      now,
      nextLife: () => (disk.life += 1),
      monthOf: thirtyDayMonthOf,
      budgetOf: (tenantId) => around.budgetOf(context, tenantId),
      late,
      deliverAlert: async () => undefined,
      raise: () => undefined,
    });
    this.desk = new AdmissionController({
      cell: "c",
      entries,
      scheduler: this.scheduler,
      budget: this.#watched(this.#budget),
      revisions: this.#revisions,
      maxQueuedPerTenant: 0,
      now,
      later,
      rows: { complete: async (row, orphan) => void (await this.#courier.write(row, orphan)) },
      activity: {
        changed: () => {
          if (entries.size > 0) disk.busy = true;
        },
      },
    });
    late.readBy((decisions) => this.desk.applyBudgetDecisions(decisions));
    this.#exchanges = new ExchangeController({
      admission: {
        knows: (requestId) => this.desk.knows(requestId),
        holds: (seat) => this.desk.holds(seat),
        arrive: (ask) => {
          this.#around.truth.admitted(ask);
          const seat = this.desk.arrive(ask);
          this.#follow(seat, "exchange");
          return seat;
        },
        decision: async (seat) => await this.desk.decision(seat),
        inUse: (seat) => this.desk.inUse(seat),
        settle: async (seat, settlement) => await this.settle(seat, settlement),
        abandon: (seat, mayHaveRow) => this.abandon(seat, mayHaveRow),
      },
      revisions: this.#revisions,
      rows: {
        record: async ({ row }) => void (await this.#courier.write(row, false)),
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

  admit(ask: AdmissionRequest): Admitted<AdmissionEntry> {
    const items = this.#revisions.staleAmong(ask.revs);
    if (items.length > 0) return { verdict: "stale", items };
    this.#around.truth.admitted(ask);
    const seat = this.desk.arrive(ask);
    this.#follow(seat, "call");
    const { decision } = seat;
    return decision === null || decision.verdict === "stale"
      ? { verdict: "waiting", permit: seat }
      : { ...decision, permit: seat };
  }

  hold(requestId: string): AdmissionEntry | null {
    const { entryCount: seated } = this.desk;
    const seat = this.desk.hold(requestId);
    if (seat === null) return null;
    const isBack = this.desk.entryCount > seated;
    if (isBack && seat.decision?.verdict !== "stale") this.#around.truth.admitted(seat.request);
    if (isBack || seat.decision === null) this.#follow(seat, "call");
    return seat;
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

  adopt(ask: AdmissionRequest): AdmissionEntry {
    return this.desk.adopt(ask);
  }

  async settle(seat: AdmissionEntry, settlement: Settlement): Promise<void> {
    const { truth } = this.#around;
    // Its client left before it heard of its grant.
    const { request_id: id } = settlement.row;
    if (this.desk.holds(seat) && truth.running.get(id)?.heard === false) truth.end(id, 0);
    if (this.desk.holds(seat)) this.#settled.add(id);
    await this.desk.settle(seat, settlement);
  }

  /** The permit's holder is gone. */
  abandon(seat: AdmissionEntry, mayHaveRow?: boolean): void {
    const { truth } = this.#around;
    const run = truth.running.get(seat.request.requestId);
    const held = this.desk.entryCount;
    this.desk.abandon(seat, mayHaveRow);
    this.#gone.add(seat);
    if (run === undefined || this.desk.entryCount === held) return;
    if (!run.heard) truth.end(run.id, 0);
    else truth.uncount(run, "its permit was lost");
  }

  async settleOrphan(row: UsageRow): Promise<void> {
    const { truth } = this.#around;
    // Of an ask that came after its request had ended.
    if (truth.running.get(row.request_id)?.heard === false) truth.end(row.request_id, 0);
    this.#settled.add(row.request_id);
    this.desk.settledElsewhere(row);
    await this.#courier.write(row, true);
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

  /** A grant, whenever it is made, is held against the laws. `by`: how it is made when it is at once. */
  #follow(seat: AdmissionEntry, by: ExchangeRun["by"]): void {
    const { truth } = this.#around;
    const decided = ({ verdict }: Decision | Stale, grantedBy: ExchangeRun["by"] = "call"): void => {
      const isOver = this.#gone.has(seat) || this.#settled.has(seat.request.requestId);
      if (verdict === "granted" && !isOver) truth.grant(seat.request, grantedBy, this.context);
    };
    if (seat.decision !== null) decided(seat.decision, by);
    else
      void this.desk.decision(seat).then(
        (decision) => decided(decision),
        () => undefined,
      );
  }

  /** What is charged is held against the law that a request is charged once. */
  #watched(budget: BudgetGateway): BudgetPort {
    const settle: BudgetPort["settle"] = (ask, used, goesOn) => {
      this.#around.truth.charged(ask.requestId, this.context, used.tokens);
      budget.settle(ask, used, goesOn);
    };
    return {
      expect: (ask) => budget.expect(ask),
      reserve: (ask) => budget.reserve(ask),
      withdraw: (ask) => budget.withdraw(ask),
      settle,
      adopt: (ask) => budget.adopt(ask),
      admitUnchecked: (ask) => budget.admitUnchecked(ask),
      readmit: (ask) => budget.readmit(ask),
    };
  }
}
