/**
 * The cost of a request (docs/rules/settlement-and-rows.md#cost): one formula per modality. Prices are USD with
 * fractions that binary numbers cannot represent; the calculation uses integers of one pico-USD, so that price times
 * count is exact and a sum does not depend on its order. A cost is never computed again: it is frozen in the usage row.
 * Prices and counts of any size give a cost, never NaN or Infinity.
 */

import { AMOUNT_MAX, saturated } from "./amount.ts";

const PICO_PER_USD = 1e12;
const MS_PER_SECOND = 1000;

/** The largest cost: 2^53 - 1 nano-USD, the largest amount of a budget (docs/rules/budgets.md#amounts). */
export const MAX_COST_USD = AMOUNT_MAX / 1e9;

/**
 * Prices of a model in USD: per token in and out, per image, per input character, per second of audio that is read; per
 * token of input that came from a cache and of output that is reasoning, null for the price of the other tokens.
 */
interface Prices {
  readonly input: number;
  readonly output: number;
  readonly image: number;
  readonly character: number;
  readonly cached_input: number | null;
  readonly reasoning_output: number | null;
  readonly input_second: number;
}

/** What a request used. A part counts as its whole at most: cached tokens as the input, reasoning tokens as the output. */
interface Used {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedTokens: number;
  readonly reasoningTokens: number;
  /** Seconds of audio that was read; they are counted in whole milliseconds. */
  readonly inputSeconds: number;
}

/** What a route counts besides tokens. `seconds`: of the audio that is read. `free`: what costs nothing. */
export type Measure =
  | { readonly kind: "tokens" }
  | { readonly kind: "input-tokens" }
  | { readonly kind: "images"; readonly count: number }
  | { readonly kind: "characters"; readonly count: number }
  | { readonly kind: "seconds" }
  | { readonly kind: "free" };

/**
 * Cost in USD, exact to the pico-USD. A higher cost becomes {@link MAX_COST_USD}, so that a cost is always an amount that
 * budgets can count. Counts saturate as amounts do (amount.ts); `images` counts as at least one. A price that is not a
 * number of at least 0 counts as 0.
 */
export function costUsd(prices: Prices, measure: Measure, used: Used): number {
  switch (measure.kind) {
    case "tokens":
      return sum([...inputOf(prices, used), ...outputOf(prices, used)]);
    case "input-tokens":
      return sum(inputOf(prices, used));
    case "images":
      return sum([[Math.max(saturated(measure.count), 1), prices.image]]);
    case "characters":
      return sum([[measure.count, prices.character]]);
    case "seconds":
      return sum([[Math.round(used.inputSeconds * MS_PER_SECOND), prices.input_second]], MS_PER_SECOND);
    case "free":
      return 0;
    default:
      return measure satisfies never;
  }
}

/**
 * Prices at which no use of so many tokens costs more, whatever parts of them come from a cache or are reasoning: a part
 * may be dearer than the rest. What is reserved before the parts are known is reserved at these
 * (docs/rules/budgets.md#reserved-cost).
 */
export function dearestPrices<P extends Prices>(prices: P): P {
  const { input, output, cached_input, reasoning_output } = prices;
  return {
    ...prices,
    input: dearer(input, cached_input),
    output: dearer(output, reasoning_output),
    cached_input: null,
    reasoning_output: null,
  };
}

function dearer(price: number, ofPart: number | null): number {
  return picoOf(ofPart ?? 0) > picoOf(price) ? (ofPart ?? 0) : price;
}

type Item = readonly [count: number, priceUsd: number];

function inputOf({ input, cached_input }: Prices, { inputTokens, cachedTokens }: Used): readonly Item[] {
  return inParts(inputTokens, input, cachedTokens, cached_input);
}

function outputOf({ output, reasoning_output }: Prices, { outputTokens, reasoningTokens }: Used): readonly Item[] {
  return inParts(outputTokens, output, reasoningTokens, reasoning_output);
}

function inParts(tokens: number, price: number, partTokens: number, partPrice: number | null): readonly Item[] {
  if (partPrice === null) return [[tokens, price]];
  const whole = saturated(tokens);
  const part = Math.min(saturated(partTokens), whole);
  return [
    [whole - part, price],
    [part, partPrice],
  ];
}

/**
 * The sum of counts times prices; `units` of a count cost the price. Sums that are small enough to be exact as a number,
 * nearly all of them, are computed as numbers.
 */
function sum(items: readonly Item[], units = 1): number {
  let pico = 0;
  for (const [count, priceUsd] of items) pico += saturated(count) * picoOf(priceUsd);
  if (Number.isSafeInteger(pico)) return Math.min(pico / (PICO_PER_USD * units), MAX_COST_USD);
  const exact = items.reduce((all, [count, priceUsd]) => all + BigInt(saturated(count)) * BigInt(picoOf(priceUsd)), 0n);
  return Math.min(Number(exact) / (PICO_PER_USD * units), MAX_COST_USD);
}

function picoOf(priceUsd: number): number {
  return priceUsd > 0 ? Math.round(Math.min(priceUsd, MAX_COST_USD) * PICO_PER_USD) : 0;
}
