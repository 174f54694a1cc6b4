/**
 * Running totals of amounts. They grow with every lease and are only ever of use as differences, so they are exact whatever
 * they have grown to: a total that stopped at the largest amount would make what is out on lease vanish.
 */
import { AMOUNT_MAX, isAmount } from "../../../shared/amount.ts";
import type { Amounts } from "./amounts.ts";

export interface Totals {
  readonly bucketTokens: bigint;
  readonly termTokens: bigint;
  readonly nanoUsd: bigint;
}

/** As stored: decimal digits, because JSON has no integers of that size. */
export type StoredTotals = { readonly [Name in keyof Totals]: string };

export const NO_TOTALS: Totals = { bucketTokens: 0n, termTokens: 0n, nanoUsd: 0n };

function zip(a: Totals, b: Totals, combine: (x: bigint, y: bigint) => bigint): Totals {
  return {
    bucketTokens: combine(a.bucketTokens, b.bucketTokens),
    termTokens: combine(a.termTokens, b.termTokens),
    nanoUsd: combine(a.nanoUsd, b.nanoUsd),
  };
}

/** Amounts as totals. */
export function totalsOf({ bucketTokens, termTokens, nanoUsd }: Amounts): Totals {
  return { bucketTokens: BigInt(bucketTokens), termTokens: BigInt(termTokens), nanoUsd: BigInt(nanoUsd) };
}

/** The sum, exactly. */
export function addTotals(a: Totals, b: Totals): Totals {
  return zip(a, b, (x, y) => x + y);
}

/** What is left of `a` without `b`, exactly; negative where `b` is larger. */
export function subtractTotals(a: Totals, b: Totals): Totals {
  return zip(a, b, (x, y) => x - y);
}

/** Totals that are 0 where they were negative. */
export function positive(totals: Totals): Totals {
  return zip(totals, NO_TOTALS, (x) => (x < 0n ? 0n : x));
}

function amount(total: bigint): number {
  return total > BigInt(AMOUNT_MAX) ? AMOUNT_MAX : Number(total);
}

/** Totals as amounts; what is more than the largest amount stops there. */
export function amountsOf(totals: Totals): Amounts {
  const { bucketTokens, termTokens, nanoUsd } = positive(totals);
  return { bucketTokens: amount(bucketTokens), termTokens: amount(termTokens), nanoUsd: amount(nanoUsd) };
}

/** Totals as {@link StoredTotals}. */
export function storedTotals({ bucketTokens, termTokens, nanoUsd }: Totals): StoredTotals {
  return { bucketTokens: `${bucketTokens}`, termTokens: `${termTokens}`, nanoUsd: `${nanoUsd}` };
}

/** {@link storedTotals} as totals. */
export function totalsFrom({ bucketTokens, termTokens, nanoUsd }: StoredTotals): Totals {
  return { bucketTokens: BigInt(bucketTokens), termTokens: BigInt(termTokens), nanoUsd: BigInt(nanoUsd) };
}

/** What somebody stored as {@link StoredTotals}, or as the numbers of before; null when it is damaged. */
export function readTotals(stored: unknown): StoredTotals | null {
  if (typeof stored !== "object" || stored === null) return null;
  const { bucketTokens, termTokens, nanoUsd } = stored as Readonly<Record<string, unknown>>;
  const [bucket, term, nano] = [bucketTokens, termTokens, nanoUsd].map(digits);
  if (bucket === undefined || term === undefined || nano === undefined) return null;
  return { bucketTokens: bucket, termTokens: term, nanoUsd: nano };
}

function digits(value: unknown): string | undefined {
  if (isAmount(value)) return `${value}`;
  return typeof value === "string" && /^\d{1,40}$/.test(value) ? value : undefined;
}
