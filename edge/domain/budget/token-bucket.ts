/**
 * A token bucket for a limit per minute (docs/rules/budgets.md#per-minute-buckets): arithmetic only. Its tokens are the units
 * that the limit counts. It starts full, refills continuously, never exceeds its cap, and over-use becomes debt down to minus
 * the cap. A cap of 0 means that there is no bucket. Callers give it times of a MonotonicClock: only forward steps of a clock
 * refill it.
 */
import type { Amounts } from "./amounts.ts";
import { amountOf, byRate, RATE_NAMES, type Rate } from "./rates.ts";
import { amount, isOf, number, type Of, orNull, record, where } from "./shapes.ts";

export const BUCKET = record({
  /** The limit: burst ceiling, and refill per minute. */
  capTokens: amount,
  /** May be fractional, and negative while in debt. */
  levelTokens: number,
  /** Unix epoch ms of `levelTokens`. */
  atMs: number,
});
type TokenBucket = Of<typeof BUCKET>;

/** As the authority sends it: never fuller, nor more in debt, than its cap. */
export const SENT_BUCKET = where(BUCKET, ({ levelTokens, capTokens }) => Math.abs(levelTokens) <= capTokens);

const BUCKETS = record(byRate(() => SENT_BUCKET));
export type Buckets = Of<typeof BUCKETS>;

/** The buckets that bind a pool: those of the tenant, and of the key when the pool is its own. */
export const OWNED_BUCKETS = record({ tenant: BUCKETS, key: orNull(BUCKETS) });
export type OwnedBuckets = Of<typeof OWNED_BUCKETS>;

/** How full a bucket is, for the x-ratelimit headers (docs/rules/headers.md#budget-headers). */
const RATE_LEVEL = record({
  limitTokens: amount,
  /** max(0, floor(level)). */
  remainingTokens: amount,
  /** ms until full, may be fractional. */
  resetMs: where(number, (ms) => ms >= 0),
});
type RateLevel = Of<typeof RATE_LEVEL>;

/**
 * The tightest levels that bind a request. Its own numbers are those of tokens, as older releases know it, and 0 without
 * such a limit; those of the other rates have their names, and are absent without one.
 */
export type BucketLevel = RateLevel & { readonly [R in Exclude<Rate, "tokens">]?: RateLevel };

export function isLevel(value: unknown): value is BucketLevel | null {
  if (value === null) return true;
  if (!isOf(RATE_LEVEL, value)) return false;
  const others = RATE_NAMES.map((rate) => levelOf(value, rate));
  return others.every((level) => level === null || isOf(RATE_LEVEL, level));
}

const NO_LEVEL: RateLevel = { limitTokens: 0, remainingTokens: 0, resetMs: 0 };

const MINUTE_MS = 60_000;

/** A bucket whose state is lost: empty, for any cap at the next touch. */
export function spentBucket(nowMs: number): TokenBucket {
  return { capTokens: 1, levelTokens: 0, atMs: nowMs };
}

export const NO_BUCKET: TokenBucket = { capTokens: 0, levelTokens: 0, atMs: 0 };

export function fullBucket(capTokens: number, nowMs: number): TokenBucket {
  return { capTokens, levelTokens: capTokens, atMs: nowMs };
}

/**
 * The bucket as of now under the current cap: refilled at its old rate except for the `unspent` part, then cut to a changed
 * cap; a new bucket is full.
 */
export function touchBucket(bucket: TokenBucket, capTokens: number, nowMs: number, unspent = 0): TokenBucket {
  if (bucket.capTokens === 0) return fullBucket(capTokens, Math.max(nowMs, bucket.atMs));
  const elapsedMs = Math.max(0, nowMs - bucket.atMs);
  const gained = bucket.levelTokens + (elapsedMs * bucket.capTokens) / MINUTE_MS;
  const refilled = Math.max(bucket.levelTokens, Math.min(bucket.capTokens - unspent, gained));
  const level = Math.max(-capTokens, Math.min(capTokens, refilled));
  return { capTokens, levelTokens: level, atMs: Math.max(bucket.atMs, nowMs) };
}

/** Adds (or takes, when negative) tokens, clamped to [-cap, +cap]. */
export function adjustBucket(bucket: TokenBucket, deltaTokens: number): TokenBucket {
  const level = Math.max(-bucket.capTokens, Math.min(bucket.capTokens, bucket.levelTokens + deltaTokens));
  return { ...bucket, levelTokens: level };
}

/** ms until the level reaches `tokens`, or the cap when `tokens` is above the cap; 0 when it has reached it already. */
export function msUntil(bucket: TokenBucket, tokens: number): number {
  if (bucket.capTokens === 0) return 0;
  const missing = Math.min(tokens, bucket.capTokens) - bucket.levelTokens;
  return Math.max(0, (missing * MINUTE_MS) / bucket.capTokens);
}

export function bucketsIn({ tenant, key }: OwnedBuckets): readonly Buckets[] {
  return key === null ? [tenant] : [tenant, key];
}

/** The levels of a rate's buckets; Infinity without one. */
export function roomOf(buckets: OwnedBuckets, rate: Rate): number {
  return Math.min(...bucketsIn(buckets).map((of) => (of[rate].capTokens === 0 ? Infinity : of[rate].levelTokens)));
}

/** The first rate whose bucket holds less than is needed; null: they hold enough. */
export function shortRate(buckets: OwnedBuckets, need: Amounts): Rate | null {
  return RATE_NAMES.find((rate) => roomOf(buckets, rate) < amountOf(need, rate)) ?? null;
}

/** Whole ms to wait until all buckets hold the need, at least 1 (docs/rules/headers.md#budget-headers). */
export function retryAfterMs(buckets: OwnedBuckets, need: Amounts): number {
  const waits = bucketsIn(buckets).flatMap((of) => RATE_NAMES.map((rate) => msUntil(of[rate], amountOf(need, rate))));
  return Math.max(1, Math.ceil(Math.max(...waits)));
}

export function bucketLevel(bucket: TokenBucket): RateLevel | null {
  if (bucket.capTokens === 0) return null;
  return {
    limitTokens: bucket.capTokens,
    remainingTokens: Math.max(0, Math.floor(bucket.levelTokens)),
    resetMs: msUntil(bucket, bucket.capTokens),
  };
}

/** The level of a rate; null without such a limit. */
export function levelOf(level: BucketLevel, rate: Rate): RateLevel | null {
  if (rate === "tokens") return level.limitTokens > 0 ? level : null;
  return level[rate] ?? null;
}

/** Whole ms until an empty bucket holds one, at least 1. */
export function msUntilOne({ limitTokens, resetMs }: RateLevel): number {
  return Math.max(1, Math.ceil(resetMs - ((limitTokens - 1) * MINUTE_MS) / limitTokens));
}

/** The level of every rate with the least left; null if there is no limit at all. */
export function tightestLevel(all: readonly Buckets[]): BucketLevel | null {
  let levels: BucketLevel | null = null;
  for (const rate of RATE_NAMES) {
    let tightest: RateLevel | null = null;
    for (const buckets of all) {
      const level = bucketLevel(buckets[rate]);
      if (level !== null && (tightest === null || isTighter(level, tightest))) tightest = level;
    }
    if (tightest !== null) levels = rate === "tokens" ? tightest : { ...(levels ?? NO_LEVEL), [rate]: tightest };
  }
  return levels;
}

function isTighter(a: RateLevel, b: RateLevel): boolean {
  return a.remainingTokens < b.remainingTokens || (a.remainingTokens === b.remainingTokens && a.resetMs > b.resetMs);
}
