/**
 * A tenant's per-minute bucket as one cell knows it: what the budget object said last, and what this cell told it since. It
 * says levels and waits; it decides nothing. Times here are of the Cell's SteadyTime: the object's clock is another one.
 */
import { LEASE_MAX_MS } from "./lease-size.ts";
import type { BudgetLimits } from "./limits.ts";
import {
  adjustBucket,
  type BucketLevel,
  bucketLevel,
  retryAfterMs,
  type TokenBucket,
  touchBucket,
} from "./token-bucket.ts";

/** A level that is older is not known here, but asked for: other cells draw too. */
const KNOWN_MS = LEASE_MAX_MS;

export class KnownBucket {
  #bucket: TokenBucket | null = null;
  #heardMs = 0;

  /** The object's word, already with what it has not applied yet. */
  heard(bucket: TokenBucket, nowMs: number): void {
    this.#bucket = { ...bucket, atMs: nowMs };
    this.#heardMs = nowMs;
  }

  /** What the object will add (or take, when negative) when it hears of it. */
  told(deltaTokens: number): void {
    if (this.#bucket !== null) this.#bucket = adjustBucket(this.#bucket, deltaTokens);
  }

  /** As of now; null before the object said anything. */
  asOf(nowMs: number): TokenBucket | null {
    return this.#bucket === null ? null : touchBucket(this.#bucket, this.#bucket.capTokens, nowMs);
  }

  /** With the tokens that this cell holds (decisions §19.1); null without a bucket, undefined when not heard of lately. */
  level(limits: BudgetLimits, heldTokens: number, nowMs: number): BucketLevel | null | undefined {
    const { tokensPerMinute } = limits.tenant;
    if (tokensPerMinute === 0) return null;
    if (this.#bucket === null || nowMs - this.#heardMs > KNOWN_MS) return undefined;
    return bucketLevel(adjustBucket(touchBucket(this.#bucket, tokensPerMinute, nowMs), heldTokens));
  }

  /** Whole ms until that many tokens may be there, at least 1; null before the object said anything. */
  retryAfterMs(limits: BudgetLimits, tokens: number, nowMs: number): number | null {
    if (this.#bucket === null) return null;
    return retryAfterMs(touchBucket(this.#bucket, limits.tenant.tokensPerMinute, nowMs), tokens);
  }
}
