/**
 * The bucket of a tenant as its budget object keeps it, through crashes of the object. Times are of the object's
 * MonotonicClock.
 */
import { clamped } from "./amounts.ts";
import type { StoredState } from "./stored.ts";
import { adjustBucket, fullBucket, SPENT_BUCKET, type TokenBucket, touchBucket } from "./token-bucket.ts";

export class TenantBucket {
  #level: TokenBucket;
  #uncoveredTokens: number;

  /** The stored bucket, refilled up to now, less what was granted since. */
  constructor({ tenant, grants, untracked }: StoredState, nowMs: number) {
    const stored = tenant?.bucket ?? (untracked ? SPENT_BUCKET : fullBucket(0, nowMs));
    // A bucket that is younger than the checkpoint started full.
    const capTokens = stored.capTokens === 0 ? Math.max(0, ...grants.map((row) => row.capTokens)) : stored.capTokens;
    // Its time becomes now at the latest: an earlier life may have had another clock, or one that was ahead.
    const refilled = touchBucket({ ...stored, atMs: Math.min(stored.atMs, nowMs) }, capTokens, nowMs);
    const granted = grants.flatMap(({ leases }) => leases).map(({ lease }) => lease.granted.bucketTokens);
    // What was granted in a damaged row may have been all of it.
    const spent = untracked ? Math.max(0, refilled.levelTokens) : clamped(granted.reduce((a, b) => a + b, 0));
    this.#level = adjustBucket(refilled, -spent);
    const missing = this.#level.levelTokens - (refilled.levelTokens - spent);
    this.#uncoveredTokens = clamped(Math.max(0, tenant?.uncoveredTokens ?? 0) + missing);
  }

  /** As of the last touch. */
  get level(): TokenBucket {
    return this.#level;
  }

  /**
   * Granted tokens that the bucket does not cover even at its largest debt: more was granted since the checkpoint than it
   * had, because some tokens had come back in between. Tokens that come back again reduce this first.
   */
  get uncoveredTokens(): number {
    return this.#uncoveredTokens;
  }

  /** Refills it up to now, under the current cap. */
  touch(capTokens: number, atMs: number): void {
    this.#level = touchBucket(this.#level, capTokens, atMs);
  }

  /** Debits a lease. */
  take(tokens: number): void {
    this.#level = adjustBucket(this.#level, -tokens);
  }

  /** Adds tokens that come back; negative: more was used than had been drawn. */
  settle(deltaTokens: number): void {
    const covered = Math.max(0, Math.min(deltaTokens, this.#uncoveredTokens));
    this.#uncoveredTokens -= covered;
    this.#level = adjustBucket(this.#level, deltaTokens - covered);
  }
}
