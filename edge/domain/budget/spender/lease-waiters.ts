/**
 * The requests that want to draw from one pool (those that wait for it, in order, and those that the scheduler has still
 * queued) and how much of it they want: what all of them need, a few times what a request really used lately, or what the
 * rate since the last lease request needs for a while. It decides only what to request; the authority decides what is granted.
 */
import { type Amounts, countsIn, larger, minus, NO_AMOUNTS, plus, times } from "../amounts.ts";
import { type BudgetLimits, countedBy, isNewerFor } from "../limits.ts";
import { type BindingLimit, LEASE_MAX_MS } from "../messages/rpc.ts";
import { RATES } from "../rates.ts";
import type { PeriodTags } from "../term-budget.ts";
import { type OwnedBuckets, shortRate } from "../token-bucket.ts";
import type { HeldLease } from "./lease-reports.ts";
import { isRateRefusal } from "./verdict.ts";

/** A request, as the budgets of its Cell know it. */
export interface BudgetRequest {
  readonly requestId: string;
  readonly limits: BudgetLimits;
  readonly need: Amounts;
}

/** A request that wants to draw. Its need is what counts under its limits. */
export interface LeaseWaiter extends BudgetRequest {
  readonly tags: PeriodTags;
}

/** Why requests are given up: no usable answer came, or the authority found the lease request invalid. */
export type GiveUpReason = "unavailable" | "invalid";

export type LeaseOutcome =
  | { readonly kind: "drawn"; readonly waiter: LeaseWaiter; readonly lease: HeldLease }
  | { readonly kind: "refused"; readonly waiter: LeaseWaiter; readonly reason: BindingLimit }
  | { readonly kind: GiveUpReason; readonly waiter: LeaseWaiter };

/**
 * A lease should last this long at the rate of the last one. It is longer than a lease lives, because running requests hold
 * more than they use.
 */
const AHEAD_MS = 2 * LEASE_MAX_MS;
const RATE_OVER_AT_LEAST_MS = 1_000;
/** A lease has enough for at least this many requests beyond the one that it is for: while no limit is known to be near, and near one. */
const FAR_PIECES = 64;
const NEAR_PIECES = 8;
/** At most this many requests of a long queue are summed up for one lease request. */
const LOOK_AHEAD = 64;
/** The use of a request is averaged over about this many. */
const AVERAGED = 8;

/** The use of one request of a tenant: an average of the latest ones. */
export class TypicalUse {
  /** Null: none has ended. */
  amounts: Amounts | null = null;

  note(used: Amounts): void {
    this.amounts = times(plus(times(this.amounts ?? used, AVERAGED - 1), used), 1 / AVERAGED);
  }
}

export class LeaseWaiters {
  readonly #pool: string | null;
  readonly #typical: TypicalUse;
  readonly #waiters = new Map<string, LeaseWaiter>();
  readonly #expected = new Map<string, LeaseWaiter>();
  /** Drawn since the last request; ended requests count with their real use. */
  #drawn: Amounts = NO_AMOUNTS;
  #wishedAtMs = 0;
  #pieces = FAR_PIECES;

  constructor(pool: string | null, typical: TypicalUse) {
    this.#pool = pool;
    this.#typical = typical;
  }

  get empty(): boolean {
    return this.#waiters.size === 0 && this.#expected.size === 0;
  }

  /** The request that has waited longest. */
  get head(): LeaseWaiter | undefined {
    return this.#waiters.values().next().value;
  }

  /** The request that has been expected longest. */
  get next(): LeaseWaiter | undefined {
    return this.#expected.values().next().value;
  }

  /** Notes a request that will want to draw once the scheduler grants it a slot. */
  expect(waiter: LeaseWaiter): void {
    this.#expected.set(waiter.requestId, waiter);
  }

  wait(waiter: LeaseWaiter): void {
    this.#waiters.set(waiter.requestId, waiter);
  }

  forget(requestId: string): void {
    this.#expected.delete(requestId);
    this.#waiters.delete(requestId);
  }

  /** Lets waiting requests draw from a lease, in order, until one may not. */
  draw(lease: HeldLease, draws: (waiter: LeaseWaiter) => boolean): readonly LeaseOutcome[] {
    const outcomes: LeaseOutcome[] = [];
    for (const waiter of this.#waiters.values()) {
      if (!draws(waiter)) break;
      this.#waiters.delete(waiter.requestId);
      this.#drawn = plus(this.#drawn, waiter.need);
      outcomes.push({ kind: "drawn", waiter, lease });
    }
    return outcomes;
  }

  /** Notes the draw of an ended request, and its real use. */
  noteEnd(drawn: Amounts, used: Amounts): void {
    this.#drawn = minus(plus(this.#drawn, used), drawn);
  }

  /** Notes that a limit is near: another cell could miss what is leased here without need. */
  limitIsNear(): void {
    this.#pieces = NEAR_PIECES;
  }

  /**
   * Refuses by the authority's decision on one request (`decided`), if it still waits, all that wait under the same limits,
   * each by its own size.
   */
  refuse(reason: BindingLimit, limits: BudgetLimits, buckets: OwnedBuckets, decided?: string): readonly LeaseOutcome[] {
    const outcomes: LeaseOutcome[] = [];
    for (const waiter of this.#waiters.values()) {
      if (isNewerFor(this.#pool, waiter.limits, limits)) continue;
      const short = shortRate(buckets, waiter.need);
      if (isRateRefusal(reason) && short === null && waiter.requestId !== decided) continue;
      this.#waiters.delete(waiter.requestId);
      outcomes.push({ kind: "refused", waiter, reason: short === null ? reason : RATES[short].reason });
    }
    return outcomes;
  }

  giveUp(kind: GiveUpReason): readonly LeaseOutcome[] {
    const outcomes = [...this.#waiters.values()].map((waiter) => ({ kind, waiter }) as const);
    this.#waiters.clear();
    return outcomes;
  }

  /** What to request under the limits for a request that needs `piece`; the rate is counted afresh from here on. */
  wish(limits: BudgetLimits, piece: Amounts, nowMs: number): Amounts {
    const all = plus(sumOfFirst(this.#waiters.values()), sumOfFirst(this.#expected.values()));
    const elapsedMs = Math.max(RATE_OVER_AT_LEAST_MS, nowMs - this.#wishedAtMs);
    const ahead = times(this.#drawn, AHEAD_MS / elapsedMs);
    this.#drawn = NO_AMOUNTS;
    this.#wishedAtMs = nowMs;
    // The count of a single request is not an average.
    const each = { ...(this.#typical.amounts ?? piece), ...countsIn(piece) };
    const several = plus(piece, times(each, this.#pieces));
    return countedBy(limits, larger(all, larger(ahead, several)));
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
