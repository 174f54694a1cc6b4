/**
 * Counts of tokens, and times, in an upstream's form. An upstream may write anything; the result is a safe integer of at least
 * 0, so that no sum or product of counts goes wrong (docs/rules/budgets.md#amounts,
 * docs/rules/settlement-and-rows.md#what-was-seen).
 */

import { AMOUNT_MAX } from "../../../shared/money/amount.ts";

/** A JSON number in its written form. */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** The count that a JSON text states, at most {@link AMOUNT_MAX}; null when it is not an integer of at least 0. */
export function tokenCount(text: string): number | null {
  if (!NUMBER.test(text)) return null;
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0) return null;
  return value === 0 ? 0 : Math.min(value, AMOUNT_MAX);
}

/**
 * The milliseconds of a time that a JSON text states in seconds, rounded to whole ones, at most {@link AMOUNT_MAX}; null
 * when it is not a number of at least 0.
 */
export function millisecondCount(text: string): number | null {
  if (!NUMBER.test(text)) return null;
  const value = Number(text);
  if (!Number.isFinite(value) || value < 0) return null;
  return value === 0 ? 0 : Math.min(Math.round(value * 1000), AMOUNT_MAX);
}
