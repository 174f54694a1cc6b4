/**
 * What a request costs (decisions §23.3): one formula per modality. Prices come as USD with fractions that binary numbers
 * cannot hold; inside, everything is integers of one pico-USD, so that a price times a count is exact and a sum does not
 * depend on its order. Nothing recomputes a cost later: the result is frozen in the usage row.
 */

const PICO_PER_USD = 1e12;

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

/** Cost in USD, exact to the pico-USD. Counts are integers of at least 0; `images` counts as at least one. */
export function costUsd(
  prices: Prices,
  measure: Measure,
  tokens: { readonly inputTokens: number; readonly outputTokens: number },
): number {
  switch (measure.kind) {
    case "tokens":
      return usd(times(tokens.inputTokens, prices.input) + times(tokens.outputTokens, prices.output));
    case "input-tokens":
      return usd(times(tokens.inputTokens, prices.input));
    case "images":
      return usd(times(Math.max(measure.count, 1), prices.image));
    case "characters":
      return usd(times(measure.count, prices.character));
    case "free":
      return 0;
    default:
      return measure satisfies never;
  }
}

function times(count: number, priceUsd: number): bigint {
  return BigInt(count) * BigInt(Math.round(priceUsd * PICO_PER_USD));
}

function usd(pico: bigint): number {
  return Number(pico) / PICO_PER_USD;
}
