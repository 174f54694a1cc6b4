/**
 * One bucket as the tenant's budget object keeps it, through crashes of the object. Times are of the object's MonotonicClock.
 */
import { clamped } from "../amounts.ts";
import { adjustBucket, touchBucket } from "../token-bucket.ts";
import type { StoredBucket } from "./stored.ts";

export class HeldBucket {
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
