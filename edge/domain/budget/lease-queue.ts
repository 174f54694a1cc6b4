/**
 * The requests that want to draw from one pool - those that wait for it, in order, and those that will once the scheduler lets
 * them - and how much of it they want: what all of them need, a few requests like the one that is asked for, or what the rate
 * since the last ask needs for a while. Decides a wish only; the authority decides what of it is granted.
 */
import { type Amounts, larger, minus, NO_AMOUNTS, plus, times } from "./amounts.ts";
import type { CellLease } from "./cell-lease.ts";
import { LEASE_MAX_MS } from "./lease-size.ts";
import { type BudgetLimits, countedBy, isNewerFor } from "./limits.ts";
import type { BindingLimit } from "./rpc.ts";
import type { PeriodTags } from "./term-budget.ts";
import type { TokenBucket } from "./token-bucket.ts";

/** A request that wants to draw. */
export interface LeaseWaiter {
  readonly requestId: string;
  readonly limits: BudgetLimits;
  readonly tags: PeriodTags;
  readonly need: Amounts;
}

/** Why requests are given up: the authority gave no answer to go by, or it said that the ask was none. */
export type GiveUpReason = "unavailable" | "invalid";

/** What became of a waiter. */
export type LeaseOutcome =
  | { readonly kind: "drawn"; readonly waiter: LeaseWaiter; readonly lease: CellLease }
  | { readonly kind: "refused"; readonly waiter: LeaseWaiter; readonly reason: BindingLimit }
  | { readonly kind: GiveUpReason; readonly waiter: LeaseWaiter };

/** A lease should last this long at the rate of the last one: longer than it lives, for what runs holds more than it uses. */
const AHEAD_MS = 2 * LEASE_MAX_MS;
const RATE_OVER_AT_LEAST_MS = 1_000;
/** So many requests a lease is to be for at least: while no limit is known to be near, and from then on. */
const FAR_PIECES = 64;
const NEAR_PIECES = 8;
/** Requests of a long queue that are summed up for one ask. */
const LOOK_AHEAD = 64;

export class LeaseQueue {
  readonly #pool: string | null;
  readonly #waiters = new Map<string, LeaseWaiter>();
  readonly #expected = new Map<string, LeaseWaiter>();
  /** Drawn since the last wish. */
  #drawn: Amounts = NO_AMOUNTS;
  #wishedAtMs = 0;
  #pieces = FAR_PIECES;

  constructor(pool: string | null) {
    this.#pool = pool;
  }

  get empty(): boolean {
    return this.#waiters.size === 0 && this.#expected.size === 0;
  }

  /** Who waits longest. */
  get head(): LeaseWaiter | undefined {
    return this.#waiters.values().next().value;
  }

  /** Who is expected longest. */
  get next(): LeaseWaiter | undefined {
    return this.#expected.values().next().value;
  }

  /** A request that will want to draw once the scheduler lets it. */
  expect(waiter: LeaseWaiter): void {
    this.#expected.set(waiter.requestId, waiter);
  }

  wait(waiter: LeaseWaiter): void {
    this.#expected.delete(waiter.requestId);
    this.#waiters.set(waiter.requestId, waiter);
  }

  forget(requestId: string): void {
    this.#expected.delete(requestId);
    this.#waiters.delete(requestId);
  }

  /** Lets those who wait draw from a lease, in order, until one may not. */
  draw(lease: CellLease, draws: (waiter: LeaseWaiter) => boolean): readonly LeaseOutcome[] {
    const outcomes: LeaseOutcome[] = [];
    for (const waiter of this.#waiters.values()) {
      if (!draws(waiter)) break;
      this.#waiters.delete(waiter.requestId);
      this.#drawn = plus(this.#drawn, waiter.need);
      outcomes.push({ kind: "drawn", waiter, lease });
    }
    return outcomes;
  }

  /** What came back unused may be drawn again. */
  returnUnused(unused: Amounts): void {
    this.#drawn = minus(this.#drawn, unused);
  }

  /** A limit is near: what is wanted without need could be missed by another cell. */
  limitIsNear(): void {
    this.#pieces = NEAR_PIECES;
  }

  /** What was decided for one, if it still waits, holds for all who wait under the same limits, each by its own size. */
  refuse(reason: BindingLimit, limits: BudgetLimits, bucket: TokenBucket, decided?: string): readonly LeaseOutcome[] {
    const outcomes: LeaseOutcome[] = [];
    for (const waiter of this.#waiters.values()) {
      if (isNewerFor(this.#pool, waiter.limits, limits)) continue;
      const short = bucket.capTokens > 0 && waiter.need.bucketTokens > bucket.levelTokens;
      if (reason === "rate" && !short && waiter.requestId !== decided) continue;
      this.#waiters.delete(waiter.requestId);
      outcomes.push({ kind: "refused", waiter, reason: short ? "rate" : reason });
    }
    return outcomes;
  }

  /** Gives up on all who wait. */
  giveUp(kind: GiveUpReason): readonly LeaseOutcome[] {
    const outcomes = [...this.#waiters.values()].map((waiter) => ({ kind, waiter }) as const);
    this.#waiters.clear();
    return outcomes;
  }

  /** What to ask for under the limits, a few times `piece` at least; the rate is counted anew from here on. */
  wish(limits: BudgetLimits, piece: Amounts, nowMs: number): Amounts {
    const all = plus(sumOfFirst(this.#waiters.values()), sumOfFirst(this.#expected.values()));
    const elapsedMs = Math.max(RATE_OVER_AT_LEAST_MS, nowMs - this.#wishedAtMs);
    const ahead = times(this.#drawn, AHEAD_MS / elapsedMs);
    this.#drawn = NO_AMOUNTS;
    this.#wishedAtMs = nowMs;
    return countedBy(limits, larger(all, larger(ahead, times(piece, this.#pieces))));
  }
}

function sumOfFirst(waiters: Iterable<LeaseWaiter>): Amounts {
  let sum = NO_AMOUNTS;
  let seen = 0;
  for (const { need } of waiters) {
    sum = plus(sum, need);
    seen += 1;
    if (seen === LOOK_AHEAD) break;
  }
  return sum;
}
