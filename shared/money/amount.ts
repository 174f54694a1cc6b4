/**
 * Amounts as they are kept and added up: tokens, characters, images, nano-USD. Every amount is a safe integer of at
 * least 0; a larger value becomes the largest amount (docs/rules/budgets.md#amounts), so that no sum, no price and no
 * client's number ever turns an amount into Infinity or NaN.
 */

/** The largest amount: 2^53 - 1. */
export const AMOUNT_MAX = Number.MAX_SAFE_INTEGER;

/**
 * The amount nearest to a number: {@link AMOUNT_MAX} for a larger number, 0 for a negative number or NaN, else rounded
 * down.
 */
export function saturated(value: number): number {
  if (value >= AMOUNT_MAX) return AMOUNT_MAX;
  return value > 0 ? Math.floor(value) : 0;
}

/** True for an amount: an integer from 0 to {@link AMOUNT_MAX}. */
export function isAmount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
