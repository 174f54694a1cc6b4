/**
 * The cost of a request (docs/rules/settlement-and-rows.md#cost): one formula per modality. Prices are USD with
 * fractions that binary numbers cannot represent; the calculation uses integers of one pico-USD, so that price times
 * count is exact and a sum does not depend on its order. A cost is never computed again: it is frozen in the usage row.
 * Prices and counts of any size give a cost, never NaN or Infinity.
 */

import { AMOUNT_MAX, saturated } from "./amount.ts";

const PICO_PER_USD = 1e12;

/** The largest cost: 2^53 - 1 nano-USD, the largest amount of a budget (docs/rules/budgets.md#amounts). */
export const MAX_COST_USD = AMOUNT_MAX / 1e9;

/** Prices of a model in USD: per token in and out, per image, per input character. */
interface Prices {
  readonly input: number;
  readonly output: number;
  readonly image: number;
  readonly character: number;
}

/** What a route counts besides tokens. `free` costs nothing (transcriptions, translations, detail probes). */
export type Measure =
  | { readonly kind: "tokens" }
  | { readonly kind: "input-tokens" }
  | { readonly kind: "images"; readonly count: number }
  | { readonly kind: "characters"; readonly count: number }
  | { readonly kind: "free" };

/**
 * Cost in USD, exact to the pico-USD. A higher cost becomes {@link MAX_COST_USD}, so that a cost is always an amount that
 * budgets can count. Counts saturate as amounts do (amount.ts); `images` counts as at least one. A price that is not a
 * number of at least 0 counts as 0.
 */
export function costUsd(
  prices: Prices,
  measure: Measure,
  tokens: { readonly inputTokens: number; readonly outputTokens: number },
): number {
  switch (measure.kind) {
    case "tokens":
      return sum([tokens.inputTokens, prices.input], [tokens.outputTokens, prices.output]);
    case "input-tokens":
      return sum([tokens.inputTokens, prices.input]);
    case "images":
      return sum([Math.max(saturated(measure.count), 1), prices.image]);
    case "characters":
      return sum([measure.count, prices.character]);
    case "free":
      return 0;
    default:
      return measure satisfies never;
  }
}

/**
 * The sum of counts times prices. Sums that are small enough to be exact as a number, nearly all of them, are computed as
 * numbers.
 */
function sum(...items: readonly (readonly [count: number, priceUsd: number])[]): number {
  let pico = 0;
  for (const [count, priceUsd] of items) pico += saturated(count) * picoOf(priceUsd);
  if (Number.isSafeInteger(pico)) return pico / PICO_PER_USD;
  const exact = items.reduce((all, [count, priceUsd]) => all + BigInt(saturated(count)) * BigInt(picoOf(priceUsd)), 0n);
  return Math.min(Number(exact) / PICO_PER_USD, MAX_COST_USD);
}

function picoOf(priceUsd: number): number {
  return priceUsd > 0 ? Math.round(Math.min(priceUsd, MAX_COST_USD) * PICO_PER_USD) : 0;
}
