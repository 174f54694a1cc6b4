/**
 * The leases of one tenant that a Cell draws from and reports: its pools, the leases of single requests, and the levels of
 * the buckets as the Cell knows them (what the authority said last, and what this Cell has reported since). Times are of the
 * Cell's MonotonicClock; the authority has a clock of its own.
 */
import {
  type ActualUsage,
  type Amounts,
  amountsUsed,
  type Counts,
  isNothing,
  isNothingUsed,
  minus,
  NO_AMOUNTS,
  plus,
} from "../amounts.ts";
import { LEASE_MAX_MS } from "../authority/lease-size.ts";
import { type BudgetLimits, countedBy, needsLease, poolOf } from "../limits.ts";
import { type BudgetReport, bucketsOf, type LeaseAnswer, type LeaseRequest } from "../messages/rpc.ts";
import { amountOf, byRate, isRated, perMinute, type Rate, type RateLimits } from "../rates.ts";
import {
  adjustBucket,
  type BucketLevel,
  type Buckets,
  type OwnedBuckets,
  tightestLevel,
  touchBucket,
} from "../token-bucket.ts";
import type { CellLease } from "./cell-lease.ts";
import { LeasePool } from "./lease-pool.ts";
import { type LeaseWaiter, TypicalUse } from "./lease-queue.ts";
import { type LeaseHolder, OutgoingReports } from "./outgoing-reports.ts";

/** What a live request holds. */
export interface Reservation {
  readonly waiter: LeaseWaiter;
  /** The lease that it drew from, or its own lease; null: it drew nothing. */
  readonly lease: CellLease | null;
  /**
   * drawn: drawn in this life, or not checked. adopted: drawn in an earlier life of the Cell. readmitted: settled before in
   * this life.
   */
  readonly origin: "drawn" | "adopted" | "readmitted";
  /** What it counts as, whatever it uses. */
  readonly counts: Counts;
}

/** Buckets as the authority reported them last, and the gains of all changes that it had heard of. */
interface HeardBuckets {
  readonly buckets: Buckets;
  readonly gains: Readonly<Record<Rate, number>>;
  readonly atMs: number;
}

/** Ended use is reported within this time: near a limit, and far from every limit. */
const NEAR_REPORT_MS = 1_000;
const FAR_REPORT_MS = 10_000;
/** An older level counts as unknown, because other cells draw too. */
const KNOWN_MS = LEASE_MAX_MS;

export class CellLeases {
  readonly reports: OutgoingReports;
  readonly #pools = new Map<string | null, LeasePool>();
  /** Of all pools, because a pool lives only as long as it has something to do. */
  readonly #typical = new TypicalUse();
  /** Of the tenant (null), and of the keys that have a pool. */
  readonly #heard = new Map<string | null, HeardBuckets>();
  /** A lease without an amount, for use that was not reserved. */
  #counted: CellLease | null = null;

  constructor(lessee: LeaseHolder) {
    this.reports = new OutgoingReports(lessee);
  }

  get idle(): boolean {
    return this.reports.empty && this.pools.every((pool) => pool.idle);
  }

  get pools(): readonly LeasePool[] {
    return [...this.#pools.values()];
  }

  /** The pool of a key; null: the tenant's. It is created at first use. */
  pool(id: string | null): LeasePool {
    const known = this.#pools.get(id);
    if (known !== undefined) return known;
    const pool = new LeasePool(id, this.#typical, this.reports, (lease, amounts, ample, nowMs) => {
      this.reports.gains.add(id, amounts, 1);
      this.reports.changed(lease, nowMs + (ample ? FAR_REPORT_MS : NEAR_REPORT_MS));
    });
    this.#pools.set(id, pool);
    return pool;
  }

  /** Opens a lease for a single request that drew its need in an earlier life. */
  adopt({ requestId, limits, need }: LeaseWaiter, nowMs: number): CellLease {
    const opened = { as: "adopted", granted: need, from: null } as const;
    const lease = this.reports.begin(nowMs, poolOf(limits), opened, { id: requestId, goesOn: true });
    this.reports.changed(lease, nowMs);
    return lease;
  }

  /** Notes what a request used that has ended, or that the Cell lost contact with. */
  end({ waiter, lease, origin }: Reservation, used: ActualUsage, goesOn: boolean, nowMs: number): void {
    if (origin !== "drawn" || goesOn) this.#endOwn(waiter, lease, origin, used, goesOn, nowMs);
    else if (lease === null) this.#count(waiter, used, nowMs);
    else this.#endDrawn(waiter, lease, used, nowMs);
  }

  /** The report that is due; null: none is. */
  dueReport(nowMs: number): BudgetReport | null {
    for (const { id, idle } of this.#pools.values()) {
      if (!idle) continue;
      this.#pools.delete(id);
      if (id === null) continue;
      this.#heard.delete(id);
      this.reports.gains.forget(id);
    }
    const dueMs = this.reports.nextMs();
    if (dueMs === null || dueMs > nowMs) return null;
    this.reports.isReporting = true;
    return this.reports.report(nowMs);
  }

  /** When something is due by time; null: not before something happens. */
  nextMs(): number | null {
    let nextMs = this.reports.nextMs();
    for (const { endsAtMs } of this.#pools.values())
      if (endsAtMs !== null && (nextMs === null || endsAtMs < nextMs)) nextMs = endsAtMs;
    return nextMs;
  }

  /** Takes the authority's buckets from its answer to a lease request. */
  updateBuckets({ report, pool }: LeaseRequest, answer: LeaseAnswer, atMs: number): void {
    const { tenant, key } = bucketsOf(answer);
    const gains = this.reports.gainsReportedIn(report, pool);
    this.#heard.set(null, { buckets: tenant, gains: gains.tenant, atMs });
    if (pool !== null && key !== null && gains.key !== null)
      this.#heard.set(pool, { buckets: key, gains: gains.key, atMs });
  }

  /** The authority's buckets that bind a pool as of now, under limits that may have changed; null before its first answer. */
  buckets(pool: string | null, nowMs: number, limits?: BudgetLimits): OwnedBuckets | null {
    const tenant = this.#known(null, nowMs, limits?.tenant);
    return tenant === null ? null : { tenant, key: pool === null ? null : this.#known(pool, nowMs, limits?.key) };
  }

  /**
   * The authority's levels plus what is free here, the tightest of tenant and key (docs/rules/budgets.md#leases); null
   * without a bucket, undefined when it is not known here.
   */
  level(limits: BudgetLimits, nowMs: number): BucketLevel | null | undefined {
    const levels: Buckets[] = [];
    for (const owner of ["tenant", "key"] as const) {
      if (!isRated(limits[owner])) continue;
      const id = owner === "tenant" ? null : limits.key.id;
      const known = this.#known(id, nowMs, limits[owner]);
      if (known === null || nowMs - (this.#heard.get(id)?.atMs ?? 0) > KNOWN_MS) return undefined;
      const free = this.#free(id);
      levels.push(byRate((rate) => adjustBucket(known[rate], amountOf(free, rate))));
    }
    return tightestLevel(levels);
  }

  #known(owner: string | null, nowMs: number, limits?: RateLimits): Buckets | null {
    const heard = this.#heard.get(owner);
    if (heard === undefined) return null;
    const gains = this.reports.gains.of(owner);
    return byRate((rate) => {
      const bucket = { ...heard.buckets[rate], atMs: heard.atMs };
      const capTokens = limits === undefined ? bucket.capTokens : perMinute(limits, rate);
      return touchBucket(adjustBucket(bucket, gains[rate] - heard.gains[rate]), capTokens, nowMs);
    });
  }

  /** What is leased and not drawn, of a key's pool; null: of all. */
  #free(owner: string | null): Amounts {
    if (owner !== null) return this.#pools.get(owner)?.free ?? NO_AMOUNTS;
    return [...this.#pools.values()].reduce((sum, { free }) => plus(sum, free), NO_AMOUNTS);
  }

  /** Ends a request that drew from a lease of its pool in this life. */
  #endDrawn({ limits, tags, need }: LeaseWaiter, lease: CellLease, used: ActualUsage, nowMs: number): void {
    const unused = minus(need, amountsUsed(used));
    const again = !isNothing(unused) && this.#pools.get(lease.pool)?.takeBack(lease, unused, nowMs) === true;
    const back = again ? minus(need, unused) : need;
    lease.release(back);
    this.#charge(lease, { limits, tags, need }, used, back, nowMs);
  }

  /** Ends a request in a lease of its own, because its end may be reported twice. */
  #endOwn(
    { requestId, limits, tags, need }: LeaseWaiter,
    drawnFrom: CellLease | null,
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
      own = this.reports.begin(nowMs, poolOf(limits), opened, { id: requestId, goesOn });
    }
    own.endRequest(goesOn);
    this.#charge(own, { limits, tags, need: granted }, used, granted, nowMs);
  }

  /** Adds use that was not reserved to a lease without an amount: the one that no message has reported yet. */
  #count({ limits, tags }: LeaseWaiter, used: ActualUsage, nowMs: number): void {
    if (isNothingUsed(used)) return;
    if (this.#counted === null || this.#counted.n <= this.reports.reportedN) {
      this.#counted = this.reports.begin(nowMs, null, { as: "counted", granted: NO_AMOUNTS, from: null });
      this.#counted.ended = true;
    }
    this.#charge(this.#counted, { limits, tags, need: NO_AMOUNTS }, used, NO_AMOUNTS, nowMs);
  }

  /**
   * Adds to a lease what a request used that had drawn `need` and of which `back` goes back to the buckets. What it used
   * beyond its need is taken from the pool in the same turn; what the pool does not cover is reported at once.
   */
  #charge(
    lease: CellLease,
    { limits, tags, need }: Omit<LeaseWaiter, "requestId">,
    used: ActualUsage,
    back: Amounts,
    nowMs: number,
  ): void {
    lease.use(limits, tags, used);
    const pool = needsLease(limits) ? this.#pools.get(poolOf(limits)) : undefined;
    const amounts = countedBy(limits, amountsUsed(used));
    const over = minus(amounts, need);
    this.#typical.note(amountsUsed(used));
    pool?.queue.noteEnd(need, amounts);
    const covered = pool === undefined ? isNothing(over) || !needsLease(limits) : pool.overdraw(over, nowMs);
    this.reports.gains.add(lease.pool, back, 1);
    this.reports.gains.add(poolOf(limits), amountsUsed(used), -1);
    this.reports.changed(lease, covered ? nowMs + reportMs(limits, lease) : nowMs);
  }
}

function reportMs(limits: BudgetLimits, { ample }: CellLease): number {
  return needsLease(limits) && !ample ? NEAR_REPORT_MS : FAR_REPORT_MS;
}
