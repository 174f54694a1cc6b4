/**
 * One life of the Cell in the simulation of loans: its real parts, put together as the Cell object does. What outlives it is
 * on its disk: capacity, revisions, and that it was busy.
 */
import type { Admitted, Ask, Decision, LedgerBatch, Stale } from "../../../edge/domain/ask.ts";
import { monthOf } from "../../../edge/domain/budget/testing/world.ts";
import { schedulerEvents } from "../../../edge/domain/cell/live-values.ts";
import { Revisions } from "../../../edge/domain/cell/revisions.ts";
import { createScheduler } from "../../../edge/domain/fairshare/scheduler.ts";
import type { FairshareAlgorithm, Scheduler } from "../../../edge/domain/fairshare/types.ts";
import { LOAN_MARGIN_MS, LOAN_MS, type Renewal, type Told } from "../../../edge/domain/loan/messages.ts";
import { AdmissionDesk } from "../../../edge/objects/admission-desk.ts";
import { BudgetDesk } from "../../../edge/objects/budget-desk.ts";
import { loanBooks } from "../../../edge/objects/loan-books.ts";
import { type DebtorStub, LoanDesk, type Session } from "../../../edge/objects/loan-desk.ts";
import { RowCourier } from "../../../edge/objects/row-courier.ts";
import type { Seat } from "../../../edge/objects/seat.ts";
import type { TestBudgets } from "../../../edge/objects/testing/budgets.ts";
import type { Change, RevItem } from "../../../shared/internal.ts";
import type { UsageRow } from "../../../shared/usage-row.ts";
import type { Context, Timeline } from "./timeline.ts";
import type { Truth } from "./truth.ts";

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
  readonly budgets: TestBudgets;
  readonly append: (batch: LedgerBatch) => Promise<void>;
}

const silence = async () => await new Promise<never>(() => {});
const SILENT = { lease: silence, settleBatch: silence, level: silence };

/** As the Cell object's. */
const ADOPTION_HOLD_MS = LOAN_MS + LOAN_MARGIN_MS;

export class CellLife {
  readonly context: Context;
  readonly scheduler: Scheduler;
  readonly desk: AdmissionDesk;
  readonly #disk: Disk;
  readonly #around: Surroundings;
  readonly #courier: RowCourier;
  readonly #budget: BudgetDesk;
  readonly #loans: LoanDesk;
  readonly #revisions = new Revisions();

  /** To be made within `context`. */
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
    this.#courier = new RowCourier("c", 1, () => ({ append }) as never);
    this.#budget = new BudgetDesk({
      cell: "c",
      failOpen: false,
      now,
      nextLife: () => (disk.life += 1),
      monthOf,
      // The dead ask nobody.
      budgetOf: (tenantId) => (context.alive ? around.budgets.budgetOf(tenantId) : SILENT),
      judged: (requestId, verdict) => this.desk.judged(requestId, verdict),
      tell: async () => undefined,
      raise: () => undefined,
    });
    this.desk = new AdmissionDesk({
      cell: "c",
      scheduler: this.scheduler,
      budget: this.#budget,
      revisions: this.#revisions,
      maxQueuedPerTenant: 0,
      now,
      complete: async (row, orphan) => void (await this.#courier.deliver(row, orphan)),
      changed: () => this.#changed(),
    });
    const parts = { scheduler: this.scheduler, desk: this.desk, budget: this.#budget, revisions: this.#revisions };
    const ended = (requestId: string, row: Promise<void>) => this.#loans.track(requestId, row);
    const books = loanBooks({ ...parts, ended, changed: () => this.#markBusy() });
    const { truth } = around;
    const abandon = (requestId: string) => {
      books.abandon(requestId);
      const run = truth.running.get(requestId);
      if (run !== undefined) truth.uncount(run, "its session was lost");
    };
    this.#loans = new LoanDesk({ books: { ...books, abandon }, now, later, succeeds: disk.busy });
    if (!disk.busy) return;
    this.desk.apply({ type: "hold", on: true });
    later(ADOPTION_HOLD_MS, () => this.desk.apply({ type: "hold", on: false }));
  }

  admit(ask: Ask): Admitted<Seat> {
    const items = this.#revisions.staleAmong(ask.revs);
    if (items.length > 0) return { verdict: "stale", items };
    this.#around.truth.admitted(ask);
    const seat = this.desk.arrive(ask);
    if (seat.decision === null || seat.decision.verdict === "stale") {
      void this.desk.decision(seat).then(
        (decision) => this.#decided(seat, decision),
        () => undefined,
      );
      return { verdict: "waiting", permit: seat };
    }
    this.#decided(seat, seat.decision);
    return { ...seat.decision, permit: seat };
  }

  adopt(ask: Ask): Seat {
    this.#loans.left(ask.requestId);
    const run = this.#around.truth.runs.get(ask.requestId);
    if (run !== undefined) run.untold = false;
    return this.desk.adopt(ask);
  }

  /** The permit's holder is gone. */
  abandon(seat: Seat): void {
    const { truth } = this.#around;
    const run = truth.running.get(seat.ask.requestId);
    const held = this.desk.seated;
    this.desk.abandon(seat);
    if (run === undefined || this.desk.seated === held) return;
    if (!run.heard) truth.end(run.id, 0);
    else truth.uncount(run, "its permit was lost");
  }

  async settleOrphan(row: UsageRow): Promise<void> {
    this.desk.settledElsewhere(row);
    this.#loans.settledElsewhere(row.request_id);
    await this.#courier.deliver(row, true);
  }

  borrow(debtor: DebtorStub): Session {
    return this.#loans.open(debtor);
  }

  tell(session: Session, told: Told): Renewal {
    return this.#loans.tell(session, told);
  }

  async close(session: Session, told: Told): Promise<void> {
    await this.#loans.close(session, told);
  }

  lost(session: Session): void {
    this.#loans.lost(session);
  }

  async invalidate(changes: readonly Change[]): Promise<void> {
    const nowMs = this.#around.time.nowMs;
    this.#disk.revisions = [...this.#disk.revisions, ...this.#revisions.note(changes, nowMs)];
    const current = this.#revisions.current(changes);
    for (const event of schedulerEvents(current)) this.desk.apply(event);
    await this.#loans.recall(changes);
  }

  async setCapacity(maxInFlight: number): Promise<void> {
    this.#disk.capacity = maxInFlight;
    this.desk.apply({ type: "capacity", maxInFlight });
    await this.#loans.recall(null);
  }

  #decided({ ask }: Seat, { verdict }: Decision | Stale): void {
    if (verdict === "granted") this.#around.truth.grant(ask, "call", this.context);
  }

  #changed(): void {
    if (this.desk.seated === 0) return;
    if (this.scheduler.lentInTheWay()) void this.#loans.recallAll();
    this.#markBusy();
  }

  #markBusy(): void {
    this.#disk.busy = true;
  }
}
