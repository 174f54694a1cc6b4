/**
 * USD as reads show it: rounded to 9 decimals (decisions §12.3, §43.7), so that the same money is the same number wherever it
 * is read. Configured prices and caps are no reads of money: they are shown as they were written.
 */

/** One nano-USD, the unit that budgets count in, is the ninth decimal. */
export const USD_DECIMALS = 9;

const NANO_PER_USD = 10 ** USD_DECIMALS;

/** USD to 9 decimals; an amount that no number can hold is the largest one, since JSON has no infinity. */
export function roundUsd(usd: number): number {
  if (!Number.isFinite(usd)) return usd > 0 ? Number.MAX_VALUE : 0;
  const nano = Math.round(usd * NANO_PER_USD);
  // beyond, a number has fewer decimals than nine
  return Number.isSafeInteger(nano) ? nano / NANO_PER_USD : usd;
}
