/**
 * Sums of amounts that come and go. They are exact however large they have grown: a sum that stopped at the largest amount
 * would make what is out on lease vanish when some of it comes back.
 */

import type { Amounts } from "../../../../edge/domain/budget/amounts.ts";
import { AMOUNT_MAX } from "../../../../shared/amount.ts";

export interface Totals {
  readonly bucketTokens: bigint;
  readonly termTokens: bigint;
  readonly nanoUsd: bigint;
}

export const NO_TOTALS: Totals = { bucketTokens: 0n, termTokens: 0n, nanoUsd: 0n };

function zip(a: Totals, b: Totals, combine: (x: bigint, y: bigint) => bigint): Totals {
  return {
    bucketTokens: combine(a.bucketTokens, b.bucketTokens),
    termTokens: combine(a.termTokens, b.termTokens),
    nanoUsd: combine(a.nanoUsd, b.nanoUsd),
  };
}

export function totalsOf({ bucketTokens, termTokens, nanoUsd }: Amounts): Totals {
  return { bucketTokens: BigInt(bucketTokens), termTokens: BigInt(termTokens), nanoUsd: BigInt(nanoUsd) };
}

/** The sum, exactly. */
export function addTotals(a: Totals, b: Totals): Totals {
  return zip(a, b, (x, y) => x + y);
}

function amount(total: bigint): number {
  if (total < 0n) return 0;
  return total > BigInt(AMOUNT_MAX) ? AMOUNT_MAX : Number(total);
}

/** Totals as amounts; what is more than the largest amount stops there, and what is negative is 0. */
export function amountsOf({ bucketTokens, termTokens, nanoUsd }: Totals): Amounts {
  return { bucketTokens: amount(bucketTokens), termTokens: amount(termTokens), nanoUsd: amount(nanoUsd) };
}
