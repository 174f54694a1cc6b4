/**
 * Charges requests that end: to the lease from which they drew, to a separate lease when their end may be reported twice, or to
 * a lease without an amount when they drew nothing. Times are of the Cell's MonotonicClock.
 */
import { type ActualUsage, amountsUsed, isNothing, minus, NO_AMOUNTS } from "../amounts.ts";
import { countedBy, needsLease, poolOf } from "../limits.ts";
import type { LeasePool } from "./lease-pool.ts";
import { type HeldLease, type LeaseReports, reportDueMs } from "./lease-reports.ts";
import type { LeaseWaiter, TypicalUse } from "./lease-waiters.ts";

/** The holdings of a live request. */
export interface Reservation {
  readonly waiter: LeaseWaiter;
  /** The lease that it drew from, or its own lease; null: it drew nothing. */
  readonly lease: HeldLease | null;
  /**
   * drawn: drawn in this life, or not checked. adopted: drawn in an earlier life of the Cell. readmitted: settled before in
   * this life.
   */
  readonly origin: "drawn" | "adopted" | "readmitted";
}

export class Charges {
  readonly #reports: LeaseReports;
  readonly #typical: TypicalUse;
  readonly #pools: ReadonlyMap<string | null, LeasePool>;
  /** A lease without an amount, for use that was not reserved. */
  #counted: HeldLease | null = null;

  constructor(reports: LeaseReports, typical: TypicalUse, pools: ReadonlyMap<string | null, LeasePool>) {
    this.#reports = reports;
    this.#typical = typical;
    this.#pools = pools;
  }

  /** Opens a lease for a single request that drew its need in an earlier life. */
  adopt({ requestId, limits, need }: LeaseWaiter, nowMs: number): HeldLease {
    const opened = { as: "adopted", granted: need, from: null } as const;
    const lease = this.#reports.begin(nowMs, poolOf(limits), opened, { id: requestId, goesOn: true });
    this.#reports.changed(lease, nowMs);
    return lease;
  }

  /** Notes the use of a request that has ended, or that the Cell lost contact with. */
  end({ waiter, lease, origin }: Reservation, used: ActualUsage, goesOn: boolean, nowMs: number): void {
    if (origin !== "drawn" || goesOn) this.#endOwn(waiter, lease, origin, used, goesOn, nowMs);
    else if (lease === null) this.#count(waiter, used, nowMs);
    else this.#endDrawn(waiter, lease, used, nowMs);
  }

  #endDrawn({ limits, tags, need }: LeaseWaiter, lease: HeldLease, used: ActualUsage, nowMs: number): void {
    const unused = minus(need, amountsUsed(used));
    const again = !isNothing(unused) && this.#pools.get(lease.pool)?.takeBack(lease, unused, nowMs) === true;
    lease.release(again ? minus(need, unused) : need);
    this.#charge(lease, { limits, tags, need }, used, nowMs);
  }

  /** Ends a request in a separate lease, because its end may be reported twice. */
  #endOwn(
    { requestId, limits, tags, need }: LeaseWaiter,
    drawnFrom: HeldLease | null,
    as: Reservation["origin"],
    used: ActualUsage,
    goesOn: boolean,
    nowMs: number,
  ): void {
    const granted = drawnFrom === null ? NO_AMOUNTS : need;
    let own = drawnFrom;
    if (own === null || as !== "adopted") {
      drawnFrom?.move(granted);
      const opened = { as: as === "readmitted" ? as : "drawn", granted, from: drawnFrom?.n ?? null } as const;
      own = this.#reports.begin(nowMs, poolOf(limits), opened, { id: requestId, goesOn });
    }
    own.endRequest(goesOn);
    this.#charge(own, { limits, tags, need: granted }, used, nowMs);
  }

  /** Adds use that was not reserved to a lease without an amount: the one that no message has reported yet. */
  #count({ limits, tags }: LeaseWaiter, used: ActualUsage, nowMs: number): void {
    if (isNothing(used)) return;
    if (this.#counted === null || this.#counted.n <= this.#reports.reportedN) {
      this.#counted = this.#reports.begin(nowMs, null, { as: "counted", granted: NO_AMOUNTS, from: null });
      this.#counted.ended = true;
    }
    this.#charge(this.#counted, { limits, tags, need: NO_AMOUNTS }, used, nowMs);
  }

  /**
   * Adds the use of a request that had drawn `need` to a lease. Use beyond its need is taken from the pool in the same turn;
   * what the pool does not cover is reported at once.
   */
  #charge(
    lease: HeldLease,
    { limits, tags, need }: Omit<LeaseWaiter, "requestId">,
    used: ActualUsage,
    nowMs: number,
  ): void {
    lease.use(limits, tags, used);
    // Without limits there is no pool, and nothing to wait for.
    if (!needsLease(limits)) {
      this.#reports.changed(lease, reportDueMs(nowMs, true));
      return;
    }
    const pool = this.#pools.get(poolOf(limits));
    const amounts = countedBy(limits, amountsUsed(used));
    const over = minus(amounts, need);
    this.#typical.note(amountsUsed(used));
    pool?.waiting.noteEnd(need, amounts);
    const covered = pool === undefined ? isNothing(over) : pool.overdraw(over, nowMs);
    this.#reports.changed(lease, covered ? reportDueMs(nowMs, lease.ample) : nowMs);
  }
}
