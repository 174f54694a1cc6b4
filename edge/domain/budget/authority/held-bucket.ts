/**
 * One bucket as the tenant's budget object keeps it, through crashes of the object. Times are of the object's MonotonicClock.
 * Invariant: what it holds and what Cells may still spend of it are together no more than its capacity, so outstanding amounts
 * do not refill, and a returned lease fills it no further (docs/rules/budgets.md#per-minute-buckets).
 */
import { clamped } from "../amounts.ts";
import { adjustBucket, touchBucket } from "../token-bucket.ts";
import type { StoredBucket } from "./stored.ts";

/** What is out on lease of a bucket. */
export interface OutOfBucket {
  /** In all, what running requests hold included. */
  readonly all: () => number;
  /** What Cells may still spend. */
  readonly unspent: () => number;
}

export class HeldBucket {
  stored: StoredBucket;
  /**
   * The part of a debt that was forgiven while leases were out. The unused rest of those leases goes to this part first;
   * otherwise it would pay off the remaining debt. While that debt is being paid off, there are no other leases.
   */
  #forgivenTokens = 0;

  /**
   * Limits its time to now: an earlier life may have had another clock, or one that was ahead. Limits its level to its cap: a
   * damaged row can have any level, and Cells refuse anything beyond the cap.
   */
  constructor({ bucket, uncoveredTokens }: StoredBucket, nowMs: number) {
    const atMs = Math.min(bucket.atMs, nowMs);
    this.stored = { bucket: adjustBucket({ ...bucket, atMs }, 0), uncoveredTokens: Math.max(0, uncoveredTokens) };
  }

  /** What to store. An object that starts again does not cover what was forgiven, either. */
  toStore(): StoredBucket {
    const { bucket, uncoveredTokens } = this.stored;
    return { bucket, uncoveredTokens: clamped(uncoveredTokens + this.#forgivenTokens) };
  }

  /** Refills it; a new one starts full, less what is already out on lease. True: the cap has changed. */
  touch(capTokens: number, atMs: number, out: OutOfBucket): boolean {
    const { bucket, uncoveredTokens } = this.stored;
    if (bucket.capTokens === capTokens && atMs <= bucket.atMs) return false;
    if (bucket.capTokens === 0) {
      this.#forgivenTokens = 0;
      this.stored = { bucket: touchBucket(bucket, capTokens, atMs), uncoveredTokens: 0 };
      this.take(out.all());
      return capTokens > 0;
    }
    const refilled = touchBucket(bucket, bucket.capTokens, atMs, out.unspent());
    this.#forgivenTokens = refilled.levelTokens < 0 ? Math.min(this.#forgivenTokens, out.unspent()) : 0;
    this.#forgive(refilled.levelTokens, capTokens);
    this.stored = { bucket: adjustBucket({ ...refilled, capTokens }, 0), uncoveredTokens };
    if (bucket.capTokens === capTokens) return false;
    this.keepWithin(out);
    return true;
  }

  /** Takes the excess of its level and the unspent amount over its capacity. */
  keepWithin(out: OutOfBucket): void {
    const { capTokens, levelTokens } = this.stored.bucket;
    this.take(Math.max(0, levelTokens + out.unspent() - capTokens));
  }

  /** Notes what it does not cover even at its largest debt: returned tokens reduce this first. */
  take(tokens: number): void {
    const { bucket, uncoveredTokens } = this.stored;
    if (bucket.capTokens === 0) return;
    const taken = adjustBucket(bucket, -tokens);
    const missing = taken.levelTokens - (bucket.levelTokens - tokens);
    this.stored = { bucket: taken, uncoveredTokens: clamped(uncoveredTokens + Math.max(0, missing)) };
  }

  /** Refills it up to now. Call it before the outstanding amount changes. */
  refill(atMs: number, out: OutOfBucket): void {
    this.touch(this.stored.bucket.capTokens, atMs, out);
  }

  /** Adds returned tokens; negative: more was used than had been drawn. `out`: what is out after that. */
  settle(deltaTokens: number, out: OutOfBucket): void {
    const { bucket, uncoveredTokens } = this.stored;
    this.#forgive(bucket.levelTokens + deltaTokens, bucket.capTokens);
    const covered = Math.max(0, Math.min(deltaTokens, uncoveredTokens));
    const ofForgiven = Math.max(0, Math.min(deltaTokens - covered, this.#forgivenTokens));
    const returned = deltaTokens - covered - ofForgiven;
    const room = bucket.capTokens - out.unspent() - bucket.levelTokens;
    this.stored = {
      bucket: adjustBucket(bucket, returned > 0 ? Math.max(0, Math.min(returned, room)) : returned),
      // What will not come back is not to be waited for.
      uncoveredTokens: Math.min(uncoveredTokens - covered, out.all()),
    };
    this.#forgivenTokens = Math.min(this.#forgivenTokens - ofForgiven, out.unspent());
  }

  /** A debt is cut at the capacity. */
  #forgive(levelTokens: number, capTokens: number): void {
    this.#forgivenTokens += Math.max(0, -capTokens - levelTokens);
  }
}
