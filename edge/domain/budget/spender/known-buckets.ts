/**
 * The buckets of a tenant and its keys as one Cell knows them: the last report of the authority, and what this Cell's leases
 * returned or used since. Times are of the Cell's MonotonicClock; the authority has a clock of its own.
 */
import { type BudgetLimits, OWNERS } from "../limits.ts";
import { bucketsOf, LEASE_MAX_MS, type LeaseAnswer, type LeaseRequest } from "../messages/rpc.ts";
import { byRate, isRated, perMinute, type Rate, type RateGains, type RateLimits } from "../rates.ts";
import {
  adjustBucket,
  type BucketLevel,
  type Buckets,
  type OwnedBuckets,
  tightestLevel,
  touchBucket,
} from "../token-bucket.ts";

type Gains = Readonly<Record<Rate, number>>;

/** Buckets as the authority reported them last, and the gains that it knew of then. */
interface HeardBuckets {
  readonly buckets: Buckets;
  readonly gains: Gains;
  readonly atMs: number;
}

/** An older level counts as unknown, because other cells draw too. */
const KNOWN_MS = LEASE_MAX_MS;

export class KnownBuckets {
  readonly #free: RateGains;
  readonly #gains: RateGains;
  readonly #gainsAt = new WeakMap<LeaseRequest, { readonly tenant: Gains; readonly key: Gains }>();
  /** Of the tenant (null), and of the keys that have a pool. */
  readonly #heard = new Map<string | null, HeardBuckets>();

  /** `gains`: of the leases of this Cell. `free`: what is leased and not drawn. */
  constructor(gains: RateGains, free: RateGains) {
    this.#gains = gains;
    this.#free = free;
  }

  /** Notes a lease request: its report contains every change so far. */
  asked(request: LeaseRequest): void {
    this.#gainsAt.set(request, { tenant: { ...this.#gains.of(null) }, key: { ...this.#gains.of(request.pool) } });
  }

  answered(request: LeaseRequest, answer: LeaseAnswer, atMs: number): void {
    const { tenant, key } = bucketsOf(answer);
    const gains = this.#gainsAt.get(request);
    if (gains === undefined) return;
    this.#heard.set(null, { buckets: tenant, gains: gains.tenant, atMs });
    if (request.pool !== null && key !== null) this.#heard.set(request.pool, { buckets: key, gains: gains.key, atMs });
  }

  forget(pool: string | null): void {
    if (pool === null) return;
    this.#heard.delete(pool);
    this.#gains.forget(pool);
    this.#free.forget(pool);
  }

  /** The authority's buckets that bind a pool as of now, under limits that may have changed; null before its first answer. */
  of(pool: string | null, nowMs: number, limits?: BudgetLimits): OwnedBuckets | null {
    const tenant = this.#known(null, nowMs, limits?.tenant);
    return tenant === null ? null : { tenant, key: pool === null ? null : this.#known(pool, nowMs, limits?.key) };
  }

  /**
   * The authority's levels plus what is free here, the tightest of tenant and key (docs/rules/budgets.md#leases); null
   * without a bucket, undefined when it is not known here.
   */
  level(limits: BudgetLimits, nowMs: number): BucketLevel | null | undefined {
    const levels: Buckets[] = [];
    for (const owner of OWNERS) {
      if (!isRated(limits[owner])) continue;
      const id = owner === "tenant" ? null : limits.key.id;
      const known = this.#known(id, nowMs, limits[owner]);
      if (known === null || nowMs - (this.#heard.get(id)?.atMs ?? 0) > KNOWN_MS) return undefined;
      const free = this.#free.of(id);
      levels.push(byRate((rate) => adjustBucket(known[rate], free[rate])));
    }
    return tightestLevel(levels);
  }

  #known(owner: string | null, nowMs: number, limits?: RateLimits): Buckets | null {
    const heard = this.#heard.get(owner);
    if (heard === undefined) return null;
    const gains = this.#gains.of(owner);
    return byRate((rate) => {
      const bucket = { ...heard.buckets[rate], atMs: heard.atMs };
      const capTokens = limits === undefined ? bucket.capTokens : perMinute(limits, rate);
      return touchBucket(adjustBucket(bucket, gains[rate] - heard.gains[rate]), capTokens, nowMs);
    });
  }
}
