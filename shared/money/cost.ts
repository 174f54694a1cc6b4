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

/** The parts of the input that can have a separate price, each with its tokens. */
const INPUT_PARTS = [
  ["cached_input", "cachedTokens"],
  ["cache_write", "cacheWrittenTokens"],
  ["audio_input", "audioInputTokens"],
  ["image_input", "imageInputTokens"],
] as const;

/** The same of the output. */
const OUTPUT_PARTS = [
  ["reasoning_output", "reasoningTokens"],
  ["audio_output", "audioOutputTokens"],
  ["image_output", "imageOutputTokens"],
] as const;

/** No part has a separate price. */
export const NO_PART_PRICES = {
  cached_input: null,
  cache_write: null,
  audio_input: null,
  image_input: null,
  reasoning_output: null,
  audio_output: null,
  image_output: null,
} as const;

type Parts = typeof INPUT_PARTS | typeof OUTPUT_PARTS;

/**
 * Prices of a model in USD: per token in and out, per image, per input character, per second of audio that is read; per
 * token of a part of the input or the output, null for the price of the other tokens.
 */
type Prices = { readonly [P in Parts[number][0]]: number | null } & {
  readonly input: number;
  readonly output: number;
  readonly image: number;
  readonly character: number;
  readonly input_second: number;
};

/** The use of a request. The parts of the input count as the input at most, and those of the output as the output. */
type Used = { readonly [P in Parts[number][1]]: number } & {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Seconds of audio that was read; they are counted in whole milliseconds. */
  readonly inputSeconds: number;
};

/**
 * The units that a route counts other than tokens. `seconds`: of the audio that is read. `free`: nothing, because it costs
 * nothing.
 */
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
 * Prices at which no use of so many tokens costs more, whatever parts of them come from a cache or are reasoning: a part may
 * cost more than the rest. Reservations before the parts are known use these prices (docs/rules/budgets.md#reserved-cost).
 */
export function dearestPrices<P extends Prices>(prices: P): P {
  return {
    ...prices,
    ...NO_PART_PRICES,
    input: dearest(prices, prices.input, INPUT_PARTS),
    output: dearest(prices, prices.output, OUTPUT_PARTS),
  };
}

function dearest(prices: Prices, plain: number, parts: Parts): number {
  return parts.reduce<number>((most, [price]) => {
    const usd = prices[price] ?? 0;
    return picoOf(usd) > picoOf(most) ? usd : most;
  }, plain);
}

/** Whether any price of a token is above 0. */
export function hasTokenPrice(prices: Prices): boolean {
  const { input, output } = dearestPrices(prices);
  return picoOf(input) + picoOf(output) > 0;
}

type Item = readonly [count: number, priceUsd: number];

const inputOf = (prices: Prices, used: Used): readonly Item[] =>
  inParts(prices, used, used.inputTokens, prices.input, INPUT_PARTS);

const outputOf = (prices: Prices, used: Used): readonly Item[] =>
  inParts(prices, used, used.outputTokens, prices.output, OUTPUT_PARTS);

/**
 * The same token can be in two parts: audio may come from a cache. It costs the price of the first part that has one, so
 * that no token is billed twice.
 */
function inParts(prices: Prices, used: Used, tokens: number, price: number, parts: Parts): readonly Item[] {
  const items: Item[] = [];
  let rest = saturated(tokens);
  for (const [name, count] of parts) {
    const ofPart = prices[name];
    if (ofPart === null) continue;
    const part = Math.min(saturated(used[count]), rest);
    rest -= part;
    items.push([part, ofPart]);
  }
  return [...items, [rest, price]];
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
