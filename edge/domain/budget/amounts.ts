/**
 * What one lease or reservation takes from every limit at once (docs/rules/budgets.md#leases). The dimensions are kept
 * together, so that a decision over all limits is one comparison. Money is integer nano-USD and tokens are integers;
 * only the level of a bucket may be fractional. Invariant: every amount is an integer from 0 to {@link AMOUNT_MAX}; sums
 * and products stop there (docs/rules/budgets.md#amounts). So no arithmetic here turns amounts into NaN, Infinity or a
 * number that has lost its last digits.
 */

import { AMOUNT_MAX } from "../../../shared/amount.ts";

/** What is known of a request before it runs, and is no estimate. Absent, as in what older releases send and store: 0. */
export interface Counts {
  /** Taken from the buckets of requests per minute. */
  readonly requests?: number;
}

export interface Amounts extends Counts {
  /** Taken from the buckets of tokens per minute: the capped estimate (docs/rules/token-estimates.md#formulas). */
  readonly bucketTokens: number;
  /**
   * Taken from the term budgets: the estimate with `max_tokens` as the client gave it
   * (docs/rules/token-estimates.md#client-limits).
   */
  readonly termTokens: number;
  readonly nanoUsd: number;
}

/** What a finished request really used. Counts that are absent are those that it needed; in a sum they are 0. */
export interface ActualUsage extends Counts {
  /** Zero for refusals and non-2xx outcomes, as is `nanoUsd` (docs/rules/settlement-and-rows.md#cost). */
  readonly tokens: number;
  readonly nanoUsd: number;
}

export const NO_AMOUNTS: Amounts = { bucketTokens: 0, requests: 0, termTokens: 0, nanoUsd: 0 };
export const NOTHING_USED: ActualUsage = { tokens: 0, nanoUsd: 0, requests: 0 };

/** {@link AMOUNT_MAX} in every dimension. */
export const MAX_AMOUNTS: Amounts = zip(NO_AMOUNTS, NO_AMOUNTS, () => AMOUNT_MAX);

const NANO_PER_USD = 1_000_000_000;

/**
 * A number as an amount: a larger one becomes {@link AMOUNT_MAX}. A number that is no amount for another reason (NaN,
 * negative, a fraction) is returned unchanged; the code that takes amounts refuses it.
 */
export function clamped(value: number): number {
  return Math.min(value, AMOUNT_MAX);
}

/** USD to integer nano-USD, rounded to the nearest, {@link clamped}. */
export function nanoUsdOf(usd: number): number {
  return clamped(Math.round(usd * NANO_PER_USD));
}

/** Nano-USD to USD. */
export function usdOf(nanoUsd: number): number {
  return nanoUsd / NANO_PER_USD;
}

function zip(a: Amounts, b: Amounts, combine: (x: number, y: number) => number): Amounts {
  return {
    bucketTokens: combine(a.bucketTokens, b.bucketTokens),
    requests: combine(a.requests ?? 0, b.requests ?? 0),
    termTokens: combine(a.termTokens, b.termTokens),
    nanoUsd: combine(a.nanoUsd, b.nanoUsd),
  };
}

/** The sum, {@link clamped}. */
export function plus(a: Amounts, b: Amounts): Amounts {
  return zip(a, b, (x, y) => clamped(x + y));
}

function zipUsed(a: ActualUsage, b: ActualUsage, combine: (x: number, y: number) => number): ActualUsage {
  return {
    tokens: combine(a.tokens, b.tokens),
    nanoUsd: combine(a.nanoUsd, b.nanoUsd),
    requests: combine(a.requests ?? 0, b.requests ?? 0),
  };
}

/** The sum of what two requests used, {@link clamped}. */
export function plusUsed(a: ActualUsage, b: ActualUsage): ActualUsage {
  return zipUsed(a, b, (x, y) => clamped(x + y));
}

/** What was used beyond what is known already; never negative. */
export function beyondUsed(used: ActualUsage, known: ActualUsage): ActualUsage {
  return zipUsed(used, known, (x, y) => Math.max(0, x - y));
}

/** The larger of what was used, part by part. */
export function largerUsed(a: ActualUsage, b: ActualUsage): ActualUsage {
  return zipUsed(a, b, Math.max);
}

/** What was used, as amounts of every limit. */
export function amountsUsed({ tokens, nanoUsd, requests = 0 }: ActualUsage): Amounts {
  return { bucketTokens: tokens, requests, termTokens: tokens, nanoUsd };
}

export const COUNT_NAMES = ["requests"] as const satisfies readonly (keyof Counts)[];

/** What of amounts is no estimate. */
export function countsIn({ requests = 0 }: Counts): Required<Counts> {
  return { requests };
}

export function isNothingUsed({ tokens, nanoUsd, requests = 0 }: ActualUsage): boolean {
  return tokens === 0 && nanoUsd === 0 && requests === 0;
}

/** What is left of `a` without `b`; never negative. */
export function minus(a: Amounts, b: Amounts): Amounts {
  return zip(a, b, (x, y) => Math.max(0, x - y));
}

export function smaller(a: Amounts, b: Amounts): Amounts {
  return zip(a, b, Math.min);
}

export function larger(a: Amounts, b: Amounts): Amounts {
  return zip(a, b, Math.max);
}

/** Every dimension times `factor`, rounded down, {@link clamped}. */
export function times(a: Amounts, factor: number): Amounts {
  return zip(a, a, (x) => clamped(Math.floor(x * factor)));
}

/** Whether `have` is at least `need` in every dimension. */
export function covers(have: Amounts, need: Amounts): boolean {
  return (
    have.bucketTokens >= need.bucketTokens &&
    (have.requests ?? 0) >= (need.requests ?? 0) &&
    have.termTokens >= need.termTokens &&
    have.nanoUsd >= need.nanoUsd
  );
}

export function isNothing(a: Amounts): boolean {
  return covers(NO_AMOUNTS, a);
}
