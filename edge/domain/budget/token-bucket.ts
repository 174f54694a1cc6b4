/**
 * The per-minute token bucket of one tenant (docs/rules/budgets.md#lives-of-a-cell): arithmetic only. It starts full,
 * refills continuously, never exceeds its cap, and over-use becomes debt down to minus the cap. A cap of 0 means that there
 * is no bucket. Callers give it times of a MonotonicClock: only forward steps of a clock refill it.
 */

export interface TokenBucket {
  /** tokens_per_minute: burst ceiling, and refill per minute. */
  readonly capTokens: number;
  /** May be fractional, and negative while in debt. */
  readonly levelTokens: number;
  /** Unix epoch ms of `levelTokens`. */
  readonly atMs: number;
}

/** The numbers of the x-ratelimit headers (docs/rules/headers.md#budget-headers). */
export interface BucketLevel {
  readonly limitTokens: number;
  /** max(0, floor(level)). */
  readonly remainingTokens: number;
  /** ms until full, may be fractional. */
  readonly resetMs: number;
}

const MINUTE_MS = 60_000;

/** A bucket whose state is lost: nearly empty at the next touch, whatever its cap is then. */
export const SPENT_BUCKET: TokenBucket = { capTokens: 1, levelTokens: 0, atMs: 0 };

export function fullBucket(capTokens: number, nowMs: number): TokenBucket {
  return { capTokens, levelTokens: capTokens, atMs: nowMs };
}

/**
 * The bucket as of now under the current cap: refilled at its old rate, then cut to a changed cap; a new bucket is full.
 */
export function touchBucket(bucket: TokenBucket, capTokens: number, nowMs: number): TokenBucket {
  if (bucket.capTokens === 0) return fullBucket(capTokens, Math.max(nowMs, bucket.atMs));
  const elapsedMs = Math.max(0, nowMs - bucket.atMs);
  const refilled = Math.min(bucket.capTokens, bucket.levelTokens + (elapsedMs * bucket.capTokens) / MINUTE_MS);
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

/**
 * Whole ms to wait before a refused estimate may fit, at least 1 (`retry-after-ms`,
 * docs/rules/headers.md#budget-headers).
 */
export function bucketRetryAfterMs(bucket: TokenBucket, tokens: number): number {
  return Math.max(1, Math.ceil(msUntil(bucket, tokens)));
}

/** The numbers for the headers; null without a bucket. */
export function bucketLevel(bucket: TokenBucket): BucketLevel | null {
  if (bucket.capTokens === 0) return null;
  return {
    limitTokens: bucket.capTokens,
    remainingTokens: Math.max(0, Math.floor(bucket.levelTokens)),
    resetMs: msUntil(bucket, bucket.capTokens),
  };
}
