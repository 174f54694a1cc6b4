/** The bucket of a tenant as its budget object keeps it, through crashes of the object. Times are of its SteadyTime. */
import type { Restored } from "./restore.ts";
import { adjustBucket, type TokenBucket, touchBucket } from "./token-bucket.ts";

export class TenantBucket {
  #level: TokenBucket;
  #uncoveredTokens: number;

  constructor({ bucket, uncoveredTokens }: Pick<Restored, "bucket" | "uncoveredTokens">) {
    this.#level = bucket;
    this.#uncoveredTokens = uncoveredTokens;
  }

  /** As of the last touch. */
  get level(): TokenBucket {
    return this.#level;
  }

  /** See restore.ts. */
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
