/**
 * How much a pool asks for: what all who wait or will wait need, a few requests like the one it asks for, or what the rate
 * since the last ask needs for a while. Decides a wish only; the authority decides what of it is granted.
 */
import { type Amounts, larger, minus, NOTHING, plus, times } from "./amounts.ts";
import { LEASE_MAX_MS } from "./lease-size.ts";
import { type BudgetLimits, countedBy } from "./limits.ts";
import type { Waiter } from "./waiter.ts";

/** A lease should last this long at the rate of the last one: longer than it lives, for what runs holds more than it uses. */
const AHEAD_MS = 2 * LEASE_MAX_MS;
const RATE_OVER_AT_LEAST_MS = 1_000;
const AT_LEAST_PIECES = 8;
/** Requests of a long queue that are summed up for one ask. */
const LOOK_AHEAD = 64;

export class Demand {
  #drawn: Amounts = NOTHING;
  #sinceMs = 0;

  /** Takes note of what was drawn. */
  drew(amounts: Amounts): void {
    this.#drawn = plus(this.#drawn, amounts);
  }

  /** Takes note of what came back unused and may be drawn again. */
  cameBack(amounts: Amounts): void {
    this.#drawn = minus(this.#drawn, amounts);
  }

  /** What an ask under the limits should want, a few times `piece` at least; the rate is counted anew from here on. */
  next(limits: BudgetLimits, piece: Amounts, queues: readonly Iterable<Waiter>[], nowMs: number): Amounts {
    const all = queues.map(sumOfFirst).reduce(plus, NOTHING);
    const elapsedMs = Math.max(RATE_OVER_AT_LEAST_MS, nowMs - this.#sinceMs);
    const ahead = times(this.#drawn, AHEAD_MS / elapsedMs);
    this.#drawn = NOTHING;
    this.#sinceMs = nowMs;
    return countedBy(limits, larger(all, larger(ahead, times(piece, AT_LEAST_PIECES))));
  }
}

function sumOfFirst(waiters: Iterable<Waiter>): Amounts {
  let sum = NOTHING;
  let seen = 0;
  for (const { need } of waiters) {
    sum = plus(sum, need);
    seen += 1;
    if (seen === LOOK_AHEAD) break;
  }
  return sum;
}
