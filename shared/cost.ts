/**
 * What a request costs (decisions §23.3): one formula per modality. Prices come as USD with fractions that binary numbers
 * cannot hold; inside, everything is integers of one pico-USD, so that a price times a count is exact and a sum does not
 * depend on its order. Nothing recomputes a cost later: the result is frozen in the usage row. Prices and counts of any size
 * give a cost, never NaN or Infinity.
 */

const PICO_PER_USD = 1e12;

/** A cost stops here: 2^53 - 1 nano-USD, the most that a budget counts (decisions §43.1). */
export const MAX_COST_USD = Number.MAX_SAFE_INTEGER / 1e9;

/** Prices of a model in USD: per token in and out, per image, per input character. */
export interface Prices {
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
 * Cost in USD, exact to the pico-USD, at most {@link MAX_COST_USD}. Counts are integers of at least 0; `images` counts as at
 * least one.
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
      return sum([Math.max(measure.count, 1), prices.image]);
    case "characters":
      return sum([measure.count, prices.character]);
    case "free":
      return 0;
    default:
      return measure satisfies never;
  }
}

/** Counts times prices. What is small enough to be exact as a number, which nearly everything is, stays one. */
function sum(...items: readonly (readonly [count: number, priceUsd: number])[]): number {
  let pico = 0;
  for (const [count, priceUsd] of items) pico += count * picoOf(priceUsd);
  if (Number.isSafeInteger(pico)) return pico / PICO_PER_USD;
  if (pico >= MAX_COST_USD * PICO_PER_USD) return MAX_COST_USD;
  return (
    Number(items.reduce((all, [count, priceUsd]) => all + BigInt(count) * BigInt(picoOf(priceUsd)), 0n)) / PICO_PER_USD
  );
}

function picoOf(priceUsd: number): number {
  return Math.min(Math.round(priceUsd * PICO_PER_USD), Number.MAX_VALUE);
}
