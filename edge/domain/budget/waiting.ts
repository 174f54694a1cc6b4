/**
 * The requests that want to draw from one pool: those that wait for it, in order, and those that will once the scheduler
 * lets them.
 */

import type { Refusal } from "./api.ts";
import type { GivenUp } from "./ask-pace.ts";
import type { CellLease } from "./cell-lease.ts";
import { type BudgetLimits, isNewerFor } from "./limits.ts";
import type { TokenBucket } from "./token-bucket.ts";
import type { Outcome, Waiter } from "./waiter.ts";

export class Waiting {
  readonly #pool: string | null;
  readonly #waiters = new Map<string, Waiter>();
  readonly #expected = new Map<string, Waiter>();

  constructor(pool: string | null) {
    this.#pool = pool;
  }

  get empty(): boolean {
    return this.#waiters.size === 0 && this.#expected.size === 0;
  }

  /** Who waits longest. */
  get head(): Waiter | undefined {
    return this.#waiters.values().next().value;
  }

  /** Who is expected longest. */
  get next(): Waiter | undefined {
    return this.#expected.values().next().value;
  }

  /** Those who wait, and those who are expected, each in order. */
  get queues(): readonly Iterable<Waiter>[] {
    return [this.#waiters.values(), this.#expected.values()];
  }

  /** A request that will want to draw once the scheduler lets it. */
  expect(waiter: Waiter): void {
    this.#expected.set(waiter.requestId, waiter);
  }

  wait(waiter: Waiter): void {
    this.#expected.delete(waiter.requestId);
    this.#waiters.set(waiter.requestId, waiter);
  }

  forget(requestId: string): void {
    this.#expected.delete(requestId);
    this.#waiters.delete(requestId);
  }

  /** Whether a request waits. */
  waits(requestId: string): boolean {
    return this.#waiters.has(requestId);
  }

  /** Lets those who wait draw from a lease, in order, until one may not. */
  draw(lease: CellLease, mayDraw: (waiter: Waiter) => boolean, draws: (waiter: Waiter) => void): readonly Outcome[] {
    const outcomes: Outcome[] = [];
    for (const waiter of this.#waiters.values()) {
      if (!mayDraw(waiter)) break;
      this.#waiters.delete(waiter.requestId);
      draws(waiter);
      outcomes.push({ kind: "drawn", waiter, lease });
    }
    return outcomes;
  }

  /** What was decided for the head holds for all who wait under the same limits, each by its own size. */
  refuse(reason: Refusal, limits: BudgetLimits, bucket: TokenBucket): readonly Outcome[] {
    const outcomes: Outcome[] = [];
    for (const waiter of this.#waiters.values()) {
      if (isNewerFor(this.#pool, waiter.limits, limits)) continue;
      const short = bucket.capTokens > 0 && waiter.need.bucketTokens > bucket.levelTokens;
      if (reason === "rate" && !short) continue;
      this.#waiters.delete(waiter.requestId);
      outcomes.push({ kind: "refused", waiter, reason: short ? "rate" : reason });
    }
    return outcomes;
  }

  /** Gives up on all who wait. */
  giveUp(kind: GivenUp): readonly Outcome[] {
    const outcomes = [...this.#waiters.values()].map((waiter) => ({ kind, waiter }) as const);
    this.#waiters.clear();
    return outcomes;
  }
}
