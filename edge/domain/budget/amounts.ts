/**
 * What one lease or reservation takes from every limit at once (docs/rules/budgets.md#leases). The parts are kept
 * together, so that a decision over all limits is one comparison. Money is integer nano-USD and tokens are integers;
 * only the level of a bucket may be fractional. Invariant: every amount is an integer from 0 to {@link AMOUNT_MAX}; sums
 * and products stop there (docs/rules/budgets.md#amounts). So no arithmetic here turns amounts into NaN, Infinity or a
 * number that has lost its last digits.
 */

import { AMOUNT_MAX } from "../../../shared/money/amount.ts";
import { amount, type Of, orAbsent, type RecordOf, record } from "./shapes.ts";

/** What is known exactly of a request before it runs. Older releases neither send nor store it: absent counts as 0. */
const COUNTS = {
  /** Taken from the buckets of requests per minute. */
  requests: orAbsent(amount),
};
type Counts = RecordOf<typeof COUNTS>;

export const AMOUNTS = record({
  ...COUNTS,
  /** Taken from the buckets of tokens per minute: the capped estimate (docs/rules/token-estimates.md#formulas). */
  bucketTokens: amount,
  /**
   * Taken from the term budgets: the estimate with `max_tokens` as the client gave it
   * (docs/rules/token-estimates.md#client-limits).
   */
  termTokens: amount,
  nanoUsd: amount,
});
export type Amounts = Of<typeof AMOUNTS>;

/** The real use of a finished request. Absent counts equal its need; in a sum they are 0. */
export const USED_FIELDS = {
  ...COUNTS,
  /** Zero for refusals and non-2xx outcomes, as is `nanoUsd` (docs/rules/settlement-and-rows.md#cost). */
  tokens: amount,
  nanoUsd: amount,
};
export const USED = record(USED_FIELDS);
export type ActualUsage = Of<typeof USED>;

export const NO_AMOUNTS: Amounts = { bucketTokens: 0, requests: 0, termTokens: 0, nanoUsd: 0 };
export const NOTHING_USED: ActualUsage = { tokens: 0, nanoUsd: 0, requests: 0 };

export const MAX_AMOUNTS: Amounts = amountsUsed({ tokens: AMOUNT_MAX, nanoUsd: AMOUNT_MAX, requests: AMOUNT_MAX });

const NANO_PER_USD = 1_000_000_000;

/**
 * A number as an amount: a larger one becomes {@link AMOUNT_MAX}. A number that is not an amount for another reason (NaN,
 * negative, a fraction) is returned unchanged; the code that takes amounts refuses it.
 */
export function clamped(value: number): number {
  return Math.min(value, AMOUNT_MAX);
}

/** USD to integer nano-USD, rounded to the nearest, {@link clamped}. */
export function nanoUsdOf(usd: number): number {
  return clamped(Math.round(usd * NANO_PER_USD));
}

export function usdOf(nanoUsd: number): number {
  return nanoUsd / NANO_PER_USD;
}

type Sum = Amounts | ActualUsage;

/** Parts are written out, because this runs many times for each request. */
function zip<T extends Sum>(a: T, b: T, combine: (x: number, y: number) => number): T;
function zip(a: Sum, b: Sum, combine: (x: number, y: number) => number): Sum {
  const requests = combine(a.requests ?? 0, b.requests ?? 0);
  const nanoUsd = combine(a.nanoUsd, b.nanoUsd);
  if ("tokens" in a) return { tokens: combine(a.tokens, (b as ActualUsage).tokens), nanoUsd, requests };
  const { bucketTokens, termTokens } = b as Amounts;
  return {
    bucketTokens: combine(a.bucketTokens, bucketTokens),
    requests,
    termTokens: combine(a.termTokens, termTokens),
    nanoUsd,
  };
}

/** The sum, {@link clamped}. */
export function plus<T extends Sum>(a: T, b: T): T {
  return zip(a, b, (x, y) => clamped(x + y));
}

/** The rest of `a` without `b`; never negative. */
export function minus<T extends Sum>(a: T, b: T): T {
  return zip(a, b, (x, y) => Math.max(0, x - y));
}

export function smaller<T extends Sum>(a: T, b: T): T {
  return zip(a, b, Math.min);
}

export function larger<T extends Sum>(a: T, b: T): T {
  return zip(a, b, Math.max);
}

/** Every part times `factor`, rounded down, {@link clamped}. */
export function times<T extends Sum>(a: T, factor: number): T {
  return zip(a, a, (x) => clamped(Math.floor(x * factor)));
}

/** Whether `have` is at least `need` in every part. */
export function covers(have: Amounts, need: Amounts): boolean {
  return (
    have.bucketTokens >= need.bucketTokens &&
    (have.requests ?? 0) >= (need.requests ?? 0) &&
    have.termTokens >= need.termTokens &&
    have.nanoUsd >= need.nanoUsd
  );
}

export function isNothing(sum: Sum): boolean {
  const { bucketTokens, termTokens } = "tokens" in sum ? amountsUsed(sum) : sum;
  return bucketTokens === 0 && termTokens === 0 && sum.nanoUsd === 0 && (sum.requests ?? 0) === 0;
}

/** The amounts used, for every limit. */
export function amountsUsed({ tokens, nanoUsd, requests = 0 }: ActualUsage): Amounts {
  return { bucketTokens: tokens, requests, termTokens: tokens, nanoUsd };
}

/** The parts of amounts that are not estimates. */
export function countsIn({ requests = 0 }: Counts): Required<Counts> {
  return { requests };
}
