/**
 * What one lease or reservation takes from every limit at once (decisions §19.1). Three dimensions travel together, so
 * that a decision over all limits is one comparison. Money is integer nano-USD, tokens are integers; only the level of
 * a bucket may be fractional.
 */

import { saturated } from "../../../shared/amount.ts";

export interface Amounts {
  /** Taken from the per-minute bucket: the capped estimate (decisions §18). */
  readonly bucketTokens: number;
  /** Taken from the term budgets: the estimate with `max_tokens` as the client gave it (decisions §19.2). */
  readonly termTokens: number;
  readonly nanoUsd: number;
}

/** What a finished request really used; zero for refusals and non-2xx outcomes (decisions §23.3). */
export interface Actual {
  readonly tokens: number;
  readonly nanoUsd: number;
}

export const NOTHING: Amounts = { bucketTokens: 0, termTokens: 0, nanoUsd: 0 };

const NANO_PER_USD = 1_000_000_000;

/** USD to integer nano-USD, rounded to the nearest; an amount whatever the number is (shared/amount.ts). */
export function nanoUsdOf(usd: number): number {
  return saturated(Math.round(usd * NANO_PER_USD));
}

/** Nano-USD to USD. */
export function usdOf(nanoUsd: number): number {
  return nanoUsd / NANO_PER_USD;
}

function zip(a: Amounts, b: Amounts, combine: (x: number, y: number) => number): Amounts {
  return {
    bucketTokens: combine(a.bucketTokens, b.bucketTokens),
    termTokens: combine(a.termTokens, b.termTokens),
    nanoUsd: combine(a.nanoUsd, b.nanoUsd),
  };
}

export function plus(a: Amounts, b: Amounts): Amounts {
  return zip(a, b, (x, y) => x + y);
}

export function minus(a: Amounts, b: Amounts): Amounts {
  return zip(a, b, (x, y) => x - y);
}

export function smaller(a: Amounts, b: Amounts): Amounts {
  return zip(a, b, Math.min);
}

export function larger(a: Amounts, b: Amounts): Amounts {
  return zip(a, b, Math.max);
}

/** Every dimension times `factor`, rounded down. */
export function times(a: Amounts, factor: number): Amounts {
  return {
    bucketTokens: Math.floor(a.bucketTokens * factor),
    termTokens: Math.floor(a.termTokens * factor),
    nanoUsd: Math.floor(a.nanoUsd * factor),
  };
}

/** Whether `have` is at least `need` in every dimension. */
export function covers(have: Amounts, need: Amounts): boolean {
  return have.bucketTokens >= need.bucketTokens && have.termTokens >= need.termTokens && have.nanoUsd >= need.nanoUsd;
}

export function isNothing(a: Amounts): boolean {
  return a.bucketTokens === 0 && a.termTokens === 0 && a.nanoUsd === 0;
}
