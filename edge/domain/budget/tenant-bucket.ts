/** The bucket of a tenant as its budget object keeps it, through crashes of the object. Times are of its MonotonicClock. */
import { clamped } from "./amounts.ts";
import type { StoredState } from "./stored.ts";
import { adjustBucket, fullBucket, SPENT_BUCKET, type TokenBucket, touchBucket } from "./token-bucket.ts";

export class TenantBucket {
  #level: TokenBucket;
  #uncoveredTokens: number;

  /** As it was stored, refilled up to now, less what was granted since. */
  constructor({ tenant, grants, untracked }: StoredState, nowMs: number) {
    const stored = tenant?.bucket ?? (untracked ? SPENT_BUCKET : fullBucket(0, nowMs));
    // A bucket that is younger than the checkpoint started full.
    const capTokens = stored.capTokens === 0 ? Math.max(0, ...grants.map((row) => row.capTokens)) : stored.capTokens;
    // Its time is never later than now: the clock of an earlier life may have been another one, or was ahead.
    const refilled = touchBucket({ ...stored, atMs: Math.min(stored.atMs, nowMs) }, capTokens, nowMs);
    const granted = grants.flatMap(({ leases }) => leases).map(({ lease }) => lease.granted.bucketTokens);
    // What was granted in a row that is damaged may have been all of it.
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
   * Tokens that were granted and that no bucket covers, not even one in debt: more was granted since the checkpoint than there
   * was, because some had come back. What comes back once more goes here first.
   */
  get uncoveredTokens(): number {
    return this.#uncoveredTokens;
  }

  /** Refills it up to now, under the cap of now. */
  touch(capTokens: number, atMs: number): void {
    this.#level = touchBucket(this.#level, capTokens, atMs);
  }

  /** Debits a lease. */
  take(tokens: number): void {
    this.#level = adjustBucket(this.#level, -tokens);
  }

  /** Tokens come back; or more were used than had been drawn, when negative. */
  settle(deltaTokens: number): void {
    const covered = Math.max(0, Math.min(deltaTokens, this.#uncoveredTokens));
    this.#uncoveredTokens -= covered;
    this.#level = adjustBucket(this.#level, deltaTokens - covered);
  }
}
