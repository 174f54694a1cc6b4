/**
 * The leases that one Cell holds of a tenant (the amounts granted, used, moved and returned), and what has not been reported to
 * the authority yet. A report carries the complete state of every lease whose newest state the authority may lack, so it may be
 * lost, repeated or overtaken. A lease is forgotten once it is over and the authority has stored that. Times are of the Cell's
 * MonotonicClock.
 */
import { type ActualUsage, type Amounts, amountsUsed, covers, isNothing, NO_AMOUNTS, plus } from "../amounts.ts";
import { type BudgetLimits, poolOf } from "../limits.ts";
import type {
  BudgetReport,
  LeaseReport,
  LeaseRequestEnd,
  OpenedLease,
  ReportAnswer,
  UsedLine,
} from "../messages/rpc.ts";
import { RateGains } from "../rates.ts";
import type { PeriodTags } from "../term-budget.ts";

/** One lease as its Cell knows it. */
export class HeldLease {
  readonly n: number;
  readonly pool: string | null;
  readonly opened: OpenedLease | null;
  /** Null until the answer has arrived: the Cell does not know the grant yet. */
  granted: Amounts | null;
  /** The authority knows of no limit that is near its cap. */
  ample = false;
  ended = false;
  /** Its answer was lost: a possible grant is returned. */
  void = false;
  /** Number of its newest change; 0: no change to report, since a lease is stored when it is granted. */
  changedN = 0;
  #released: Amounts = NO_AMOUNTS;
  #moved: Amounts = NO_AMOUNTS;
  #request: LeaseRequestEnd | null;
  readonly #used = new Map<string, UsedLine>();
  readonly #gains: RateGains;

  constructor(
    n: number,
    pool: string | null,
    opened: OpenedLease | null,
    request: LeaseRequestEnd | null,
    gains: RateGains,
  ) {
    this.n = n;
    this.pool = pool;
    this.#gains = gains;
    this.opened = opened;
    this.granted = opened?.granted ?? null;
    this.#request = request;
  }

  /** True when nothing more will be drawn from it or used of it. */
  get over(): boolean {
    if (this.void) return true;
    return this.ended && this.granted !== null && covers(plus(this.#released, this.#moved), this.granted);
  }

  release(amounts: Amounts): void {
    this.#released = plus(this.#released, amounts);
    this.#gains.add(this.pool, amounts, 1);
  }

  /** Notes that from now on the lease of a single request holds part of it. */
  move(amounts: Amounts): void {
    this.#moved = plus(this.#moved, amounts);
  }

  use(limits: BudgetLimits, tags: PeriodTags, used: ActualUsage): void {
    if (isNothing(used)) return;
    this.#gains.add(poolOf(limits), amountsUsed(used), -1);
    const name = JSON.stringify([limits.key.id, tags.tenant, tags.key]);
    const known = this.#used.get(name);
    this.#used.set(name, { limits, tags, used: known === undefined ? used : plus(known.used, used) });
  }

  /** Marks the end of its request as reported: the request's holdings are returned. */
  endRequest(goesOn: boolean): void {
    if (this.#request !== null) this.#request = { id: this.#request.id, goesOn };
    this.release(this.granted ?? NO_AMOUNTS);
    this.ended = true;
  }

  get report(): LeaseReport {
    const { n, pool, opened, ended } = this;
    return { n, pool, released: this.#released, used: [...this.#used.values()], ended, opened, request: this.#request };
  }
}

/** Ended use is reported within this time: near a limit, and far from every limit. */
const NEAR_REPORT_MS = 1_000;
const FAR_REPORT_MS = 10_000;

/** When to report a change of a lease. */
export function reportDueMs(nowMs: number, isAmple: boolean): number {
  return nowMs + (isAmple ? FAR_REPORT_MS : NEAR_REPORT_MS);
}

/** After this time without a report, the authority is asked whether it has stored the applied reports. */
const CONFIRM_MS = 10_000;
/** A Cell with outstanding leases reports at least this often, to show that it lives. */
const HEARTBEAT_MS = 60_000;
const RETRY_MS = 1_000;

/** Which Cell holds the leases, and how it numbers them. */
export interface LeaseHolder {
  readonly cell: string;
  /**
   * The life of the Cell, counted on its disk; larger than all earlier ones, for any readings of clocks
   * (docs/rules/budgets.md#lives-of-a-cell).
   */
  readonly life: number;
  /** Returns a number, of a lease or of a change, that is larger than all it returned before in this life. */
  readonly nextN: () => number;
}

export class LeaseReports {
  readonly #holder: LeaseHolder;
  readonly #leases = new Map<number, HeldLease>();
  /** What leases gave back to the buckets, less what requests used. */
  readonly gains = new RateGains();
  /** What pools have leased and not drawn. */
  readonly free = new RateGains();
  /** Number of the newest change, and of the newest change that a message has reported. */
  changedN = 0;
  reportedN = 0;
  /** Number of the newest change that the authority has received, and of the newest that it has stored. */
  #heardN = 0;
  #storedN = 0;
  /** Since when the authority has not answered; null while it answers. */
  failingSinceMs: number | null = null;
  #dueMs: number | null = null;
  #lastTalkMs = 0;
  #retryMs: number | null = null;
  /** A report is under way. Lease requests carry reports as well and do not count here. */
  isReporting = false;

  constructor(holder: LeaseHolder) {
    this.#holder = holder;
  }

  /** True when no lease is outstanding, and everything has been reported and stored. */
  get empty(): boolean {
    return this.#leases.size === 0 && !this.isReporting;
  }

  /**
   * Adds a lease that is about to be requested, or with `opened` one that the Cell opens itself. `request`: the single request
   * that it belongs to.
   */
  begin(
    nowMs: number,
    pool: string | null,
    opened: OpenedLease | null = null,
    request: LeaseRequestEnd | null = null,
  ): HeldLease {
    if (this.#leases.size === 0) this.#lastTalkMs = nowMs;
    const lease = new HeldLease(this.#holder.nextN(), pool, opened, request, this.gains);
    this.#leases.set(lease.n, lease);
    return lease;
  }

  drop(lease: HeldLease): void {
    this.#leases.delete(lease.n);
  }

  /** Records that a lease changed; to be reported by `dueMs`. */
  changed(lease: HeldLease, dueMs: number): void {
    this.changedN = this.#holder.nextN();
    lease.changedN = this.changedN;
    this.#due(dueMs);
  }

  /** A message with everything that the authority may not have stored. */
  report(nowMs: number): BudgetReport {
    this.#lastTalkMs = nowMs;
    this.#dueMs = null;
    const leases = [...this.#leases.values()];
    const { cell, life } = this.#holder;
    const report = {
      cell,
      life,
      sequence: this.changedN,
      leases: leases
        .filter((lease) => lease.granted !== null && lease.changedN > this.#storedN)
        .map(({ report }) => report),
      open: leases.filter((lease) => lease.opened === null && !lease.void).map(({ n }) => n),
      alertsSeen: [],
    };
    this.reportedN = this.changedN;
    return report;
  }

  /** Takes the answer to any message, null: there was none. Answers may come in any order. */
  answered({ sequence }: BudgetReport, answer: ReportAnswer | null, nowMs: number): void {
    if (answer === null) {
      this.failingSinceMs ??= nowMs;
      this.#retryMs = nowMs + RETRY_MS;
      if (this.#leases.size > 0) this.#due(this.#retryMs);
      return;
    }
    this.#lastTalkMs = nowMs;
    this.#retryMs = null;
    this.failingSinceMs = null;
    this.#heardN = Math.max(this.#heardN, sequence);
    if (answer.stored <= this.#storedN) return;
    this.#storedN = answer.stored;
    for (const lease of this.#leases.values())
      if (lease.over && lease.changedN <= this.#storedN) this.#leases.delete(lease.n);
  }

  /** When a report should leave; null: nothing to report, or a report is under way. */
  nextMs(): number | null {
    if (this.isReporting) return null;
    const waits = this.#heardN > this.#storedN ? CONFIRM_MS : this.#leases.size > 0 ? HEARTBEAT_MS : null;
    const times = [this.#dueMs, waits === null ? null : this.#lastTalkMs + waits].filter((at) => at !== null);
    return times.length === 0 ? null : Math.max(Math.min(...times), this.#retryMs ?? Number.NEGATIVE_INFINITY);
  }

  #due(atMs: number): void {
    this.#dueMs = this.#dueMs === null ? atMs : Math.min(this.#dueMs, atMs);
  }
}
