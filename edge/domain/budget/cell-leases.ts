/**
 * The leases of one tenant that a cell draws from and tells of: its pools, the leases that single requests have of their own,
 * and the level of the bucket as far as the cell knows it. Times here are of the Cell's SteadyTime.
 */
import { type Actual, type Amounts, isNothing, minus, NOTHING } from "./amounts.ts";
import type { OpenedLease, Report, Tags } from "./api.ts";
import type { CellLease } from "./cell-lease.ts";
import { KnownBucket } from "./known-bucket.ts";
import { LeasePool } from "./lease-pool.ts";
import { LeaseReports, type Lessee } from "./lease-reports.ts";
import { type BudgetLimits, needsLease, poolOf } from "./limits.ts";
import { adjustBucket, type BucketLevel, type TokenBucket } from "./token-bucket.ts";
import type { Waiter } from "./waiter.ts";

/** What a live request holds. */
export interface Reservation {
  readonly waiter: Waiter;
  /** What it drew from, or its own; null: nothing. */
  readonly lease: CellLease | null;
  readonly drawn: Amounts;
  /** Drawn in this life, or not checked; drawn in an earlier life of the cell; or settled before in this one. */
  readonly origin: "drawn" | "adopted" | "readmitted";
}

/** What ended is reported within this time: near a limit, and where none is near. */
const NEAR_REPORT_MS = 1_000;
const FAR_REPORT_MS = 10_000;

export class CellLeases {
  readonly reports: LeaseReports;
  readonly bucket = new KnownBucket();
  readonly #pools = new Map<string | null, LeasePool>();
  /** Tokens that the bucket gains (or loses, when negative) by all that was ever changed here. */
  #gainTokens = 0;
  /** What the gain was when a message was made, by its report. */
  readonly #gainAt = new WeakMap<Report, number>();
  /** A lease of nothing, for use without a reservation: the one that no message has told of yet. */
  #counted: CellLease | null = null;

  constructor(lessee: Lessee) {
    this.reports = new LeaseReports(lessee);
  }

  get idle(): boolean {
    return this.reports.empty && this.pools.every((pool) => pool.idle);
  }

  get pools(): readonly LeasePool[] {
    return [...this.#pools.values()];
  }

  /** Null is the tenant's; made when first wanted. */
  pool(id: string | null): LeasePool {
    const known = this.#pools.get(id);
    if (known !== undefined) return known;
    const pool = new LeasePool(id, this.reports, (lease, amounts, ample, nowMs) => {
      this.#gain(amounts.bucketTokens);
      this.reports.changed(lease, nowMs + (ample ? FAR_REPORT_MS : NEAR_REPORT_MS));
    });
    this.#pools.set(id, pool);
    return pool;
  }

  /** A lease of its own for a request that drew its need in an earlier life. */
  adopt({ requestId, limits, need }: Waiter, nowMs: number): CellLease {
    const opened = { as: "adopted", granted: need, from: null } as const;
    const lease = this.reports.begin({ pool: poolOf(limits), opened, request: { id: requestId, goesOn: true } }, nowMs);
    this.reports.changed(lease, nowMs);
    return lease;
  }

  /** A request has ended, or the Cell lost sight of it, and used this much. */
  end({ waiter, lease, drawn, origin }: Reservation, used: Actual, goesOn: boolean, nowMs: number): void {
    const { requestId, limits, tags } = waiter;
    if (lease === null && origin === "drawn" && !goesOn) {
      this.count(limits, tags, used, nowMs);
      return;
    }
    this.#gain(-used.tokens);
    if (origin === "drawn" && lease !== null && !goesOn) {
      this.#endDrawn(lease, waiter, drawn, used, nowMs);
      return;
    }
    this.#gain(drawn.bucketTokens);
    // Told by itself, because it may be told twice.
    let own = lease;
    if (origin !== "adopted" || own === null) {
      lease?.move(drawn);
      const as = origin === "readmitted" ? "readmitted" : "drawn";
      const opened: OpenedLease = { as, granted: drawn, from: lease?.n ?? null };
      own = this.reports.begin({ pool: poolOf(limits), opened, request: { id: requestId, goesOn } }, nowMs);
    }
    own.use(limits, tags, used);
    own.endRequest(goesOn);
    this.reports.changed(own, nowMs + reportMs(limits, own));
  }

  /** Use of which nothing was reserved goes on a lease of nothing. */
  count(limits: BudgetLimits, tags: Tags, used: Actual, nowMs: number): void {
    if (used.tokens === 0 && used.nanoUsd === 0) return;
    const opened = { as: "counted", granted: NOTHING, from: null } as const;
    this.#counted ??= this.reports.begin({ pool: null, opened, request: null }, nowMs);
    this.#counted.ended = true;
    this.#counted.use(limits, tags, used);
    this.#gain(-used.tokens);
    this.reports.changed(this.#counted, nowMs + reportMs(limits, this.#counted));
  }

  /** The report that is due, if one is. */
  dueReport(nowMs: number): Report | null {
    for (const pool of this.#pools.values()) if (pool.idle) this.#pools.delete(pool.id);
    const dueMs = this.reports.nextMs();
    if (dueMs === null || dueMs > nowMs) return null;
    this.reports.reporting = true;
    const report = this.reports.report(nowMs);
    this.left(report);
    return report;
  }

  /** A message leaves with a report. */
  left(report: Report): void {
    this.#counted = null;
    this.#gainAt.set(report, this.#gainTokens);
  }

  /** The authority's bucket when it answered a report: what changed here while that was on its way is not in it. */
  heardBucket(bucket: TokenBucket, report: Report, nowMs: number): void {
    const since = this.#gainTokens - (this.#gainAt.get(report) ?? this.#gainTokens);
    this.bucket.heard(adjustBucket(bucket, since), nowMs);
  }

  /** When something is to be done by itself; null: not before something happens. */
  nextMs(): number | null {
    let nextMs = this.reports.nextMs();
    for (const { endsAtMs } of this.#pools.values())
      if (endsAtMs !== null && (nextMs === null || endsAtMs < nextMs)) nextMs = endsAtMs;
    return nextMs;
  }

  /** The authority's level plus what is free here; undefined: unknown here. */
  level(limits: BudgetLimits, nowMs: number): BucketLevel | null | undefined {
    let freeTokens = 0;
    for (const { free } of this.#pools.values()) freeTokens += free.bucketTokens;
    return this.bucket.level(limits, freeTokens, nowMs);
  }

  #endDrawn(lease: CellLease, { limits, tags }: Waiter, drawn: Amounts, used: Actual, nowMs: number): void {
    const { tokens, nanoUsd } = used;
    const unused = minus(drawn, { bucketTokens: tokens, termTokens: tokens, nanoUsd });
    const again = !isNothing(unused) && this.#pools.get(lease.pool)?.takeBack(lease, unused, nowMs) === true;
    const back = again ? minus(drawn, unused) : drawn;
    lease.release(back);
    lease.use(limits, tags, used);
    this.#gain(back.bucketTokens);
    this.reports.changed(lease, nowMs + reportMs(limits, lease));
  }

  #gain(tokens: number): void {
    this.#gainTokens += tokens;
    this.bucket.told(tokens);
  }
}

function reportMs(limits: BudgetLimits, { ample }: CellLease): number {
  return needsLease(limits) && !ample ? NEAR_REPORT_MS : FAR_REPORT_MS;
}
