/**
 * USD as reads show it: rounded to 9 decimals (docs/rules/usage-reads.md#money), so that the same amount is the same
 * number in every read. Configured prices and caps are shown as they were written.
 */

/** The ninth decimal is one nano-USD, the unit that budgets count in. */
export const USD_DECIMALS = 9;

const NANO_PER_USD = 10 ** USD_DECIMALS;

/**
 * USD rounded to 9 decimals; an amount above the largest number becomes the largest number, because JSON has no infinity.
 */
export function roundUsd(usd: number): number {
  if (!Number.isFinite(usd)) return usd > 0 ? Number.MAX_VALUE : 0;
  const nano = Math.round(usd * NANO_PER_USD);
  // above this a number has fewer than nine decimals
  return Number.isSafeInteger(nano) ? nano / NANO_PER_USD : usd;
}
