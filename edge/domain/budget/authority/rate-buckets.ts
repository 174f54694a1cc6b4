/**
 * The buckets of a tenant and of its keys as the tenant's budget object keeps them, through crashes of the object. A key has
 * buckets once it has had a limit per minute. Times are of the object's MonotonicClock.
 */
import { type Amounts, clamped, NO_AMOUNTS, plus } from "../amounts.ts";
import { type BudgetLimits, NO_KEY } from "../limits.ts";
import { amountOf, byRate, isRated, perMinute, RATE_NAMES, type Rate, type RateGains } from "../rates.ts";
import {
  adjustBucket,
  type Buckets,
  fullBucket,
  type OwnedBuckets,
  spentBucket,
  touchBucket,
} from "../token-bucket.ts";
import type { GrantedLeases } from "./granted-leases.ts";
import type { StoredBucket, StoredBuckets, StoredGrants, StoredState } from "./stored.ts";

type HeldBuckets = Readonly<Record<Rate, HeldBucket>>;

export class RateBuckets {
  readonly #leases: GrantedLeases;
  readonly #stored: StoredState;
  readonly #tenant: HeldBuckets;
  readonly #keys = new Map<string, HeldBuckets>();
  readonly #changedKeys = new Set<string>();

  /** The stored buckets, refilled up to now, less what was granted since; `leases`: what is out, those grants included. */
  constructor(stored: StoredState, leases: GrantedLeases, nowMs: number) {
    this.#stored = stored;
    this.#leases = leases;
    const { tenant, keys, grants } = stored;
    this.#tenant = this.#restored(null, tenant?.rates ?? (tenant === null ? {} : { tokens: tenant }), nowMs);
    for (const { limits } of grants)
      if (limits !== null && isRated(limits.key))
        this.#keys.set(limits.key.id, this.#restored(limits.key.id, {}, nowMs));
    for (const { limits, rates } of keys)
      if (rates !== undefined) this.#keys.set(limits.id, this.#restored(limits.id, rates, nowMs));
  }

  /** As of the last touch: the tenant's, and those of the key when it has any. */
  of(keyId: string | null): OwnedBuckets {
    const levels = (held: HeldBuckets): Buckets => byRate((rate) => held[rate].stored.bucket);
    const key = keyId === null ? undefined : this.#keys.get(keyId);
    return { tenant: levels(this.#tenant), key: key === undefined ? null : levels(key) };
  }

  /** Refills them up to now, under the current limits. */
  touch({ tenant, key }: BudgetLimits, atMs: number): void {
    for (const rate of RATE_NAMES) this.#tenant[rate].touch(perMinute(tenant, rate), atMs, () => this.#out(null, rate));
    if (key.id === NO_KEY.id || (!isRated(key) && !this.#keys.has(key.id))) return;
    const held = this.#keys.get(key.id) ?? byRate(() => this.#unknown(key.id, atMs));
    this.#keys.set(key.id, held);
    for (const rate of RATE_NAMES)
      if (held[rate].touch(perMinute(key, rate), atMs, () => this.#out(key.id, rate))) this.#changedKeys.add(key.id);
  }

  /** Debits a lease of a pool. */
  take(pool: string | null, grant: Amounts): void {
    const key = pool === null ? undefined : this.#keys.get(pool);
    for (const rate of RATE_NAMES) for (const held of [this.#tenant, key]) held?.[rate].take(amountOf(grant, rate));
    if (pool !== null && key !== undefined) this.#changedKeys.add(pool);
  }

  /** Adds what comes back, and takes what was used beyond what had been drawn. */
  settle(gains: RateGains): void {
    for (const owner of gains.owners) {
      const held = owner === null ? this.#tenant : this.#keys.get(owner);
      if (held === undefined) continue;
      for (const rate of RATE_NAMES) held[rate].settle(gains.of(owner)[rate]);
      if (owner !== null) this.#changedKeys.add(owner);
    }
  }

  /** What is to be stored of the tenant's buckets (null), or of a key's; undefined: the key has none. */
  toStore(keyId: null): Required<StoredBuckets>;
  toStore(keyId: string): StoredBuckets | undefined;
  toStore(keyId: string | null): StoredBuckets | undefined {
    const held = keyId === null ? this.#tenant : this.#keys.get(keyId);
    return held === undefined ? undefined : byRate((rate) => held[rate].stored);
  }

  /** The keys whose buckets changed since the last call otherwise than by time. */
  takeChangedKeys(): readonly string[] {
    const changed = [...this.#changedKeys];
    this.#changedKeys.clear();
    return changed;
  }

  /** What is out on lease of a bucket; what nobody knows of is not: it was counted as spent when the object started. */
  #out(keyId: string | null, rate: Rate): number {
    return amountOf(this.#leases.leasedOut(keyId, "known cells"), rate);
  }

  #restored(keyId: string | null, rates: StoredBuckets, nowMs: number): HeldBuckets {
    const grants = this.#stored.grants.filter(({ pool }) => keyId === null || pool === keyId);
    const granted = grants
      .flatMap(({ leases }) => leases)
      .reduce((sum, { lease }) => plus(sum, lease.granted), NO_AMOUNTS);
    return byRate((rate) => {
      const stored = rates[rate];
      const held = stored === undefined ? this.#unknown(keyId, nowMs) : new HeldBucket(stored, nowMs);
      const { capTokens } = held.stored.bucket;
      // A bucket that is younger than the checkpoint started full.
      const isYounger = capTokens === 0;
      const cap = isYounger ? Math.max(0, ...grants.map((row) => capOf(row, keyId, rate))) : capTokens;
      held.touch(cap, nowMs, () => this.#out(keyId, rate));
      // What was granted in a damaged row may have been all of it.
      if (this.#stored.untracked) held.take(Math.max(0, held.stored.bucket.levelTokens));
      else if (!isYounger) held.take(amountOf(granted, rate));
      return held;
    });
  }

  /** A bucket of which nothing is stored: it is new, unless the row that had it cannot be read. */
  #unknown(keyId: string | null, nowMs: number): HeldBucket {
    const { untracked, keysUntracked } = this.#stored;
    const isLost = untracked || (keyId !== null && keysUntracked);
    return new HeldBucket({ bucket: isLost ? spentBucket(nowMs) : fullBucket(0, nowMs), uncoveredTokens: 0 }, nowMs);
  }
}

/** The cap of a bucket from which leases were granted. */
function capOf({ capTokens, limits }: StoredGrants, keyId: string | null, rate: Rate): number {
  if (limits === null) return keyId === null && rate === "tokens" ? capTokens : 0;
  return perMinute(keyId === null ? limits.tenant : limits.key, rate);
}

/** One bucket. */
class HeldBucket {
  stored: StoredBucket;

  /** Its time becomes now at the latest: an earlier life may have had another clock, or one that was ahead. */
  constructor({ bucket, uncoveredTokens }: StoredBucket, nowMs: number) {
    const atMs = Math.min(bucket.atMs, nowMs);
    this.stored = { bucket: { ...bucket, atMs }, uncoveredTokens: Math.max(0, uncoveredTokens) };
  }

  /** Refills it; a new one starts full, less what is `out` on lease already. True: the cap has changed. */
  touch(capTokens: number, atMs: number, out: () => number): boolean {
    const { bucket, uncoveredTokens } = this.stored;
    const isNew = bucket.capTokens === 0 && capTokens > 0;
    this.stored = { bucket: touchBucket(bucket, capTokens, atMs), uncoveredTokens: isNew ? 0 : uncoveredTokens };
    if (isNew) this.take(out());
    return bucket.capTokens !== capTokens;
  }

  /** What it does not cover even at its largest debt is noted: tokens that come back reduce this first. */
  take(tokens: number): void {
    const { bucket, uncoveredTokens } = this.stored;
    if (bucket.capTokens === 0) return;
    const taken = adjustBucket(bucket, -tokens);
    const missing = taken.levelTokens - (bucket.levelTokens - tokens);
    this.stored = { bucket: taken, uncoveredTokens: clamped(uncoveredTokens + Math.max(0, missing)) };
  }

  /** Adds tokens that come back; negative: more was used than had been drawn. */
  settle(deltaTokens: number): void {
    const { bucket, uncoveredTokens } = this.stored;
    const covered = Math.max(0, Math.min(deltaTokens, uncoveredTokens));
    this.stored = {
      bucket: adjustBucket(bucket, deltaTokens - covered),
      uncoveredTokens: uncoveredTokens - covered,
    };
  }
}
