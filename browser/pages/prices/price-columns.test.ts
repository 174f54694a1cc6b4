/** The price list: what stands in a cell, and what a price that is not set means. */
import { expect, it } from "vitest";
import type { Records } from "../../data/api.ts";
import { PRICE_COLUMNS, priceCell } from "./price-columns.ts";

const model = (prices: object) =>
  ({
    input_cost_per_token: 0,
    output_cost_per_token: 0,
    cached_input_cost_per_token: null,
    cache_write_cost_per_token: null,
    reasoning_output_cost_per_token: null,
    cost_per_image: 0,
    cost_per_character: 0,
    input_cost_per_second: 0,
    batch_price_factor: 1,
    ...prices,
  }) as Records["Model"];
const said = (one: Records["Model"]) =>
  Object.fromEntries(PRICE_COLUMNS.map((column) => [column.id, priceCell(one, column).said]));

it("has prices of a million tokens, of an image and of a minute, to their last digit", () => {
  const prices = {
    input_cost_per_token: 1.5e-7,
    cached_input_cost_per_token: 0,
    output_cost_per_token: 6e-7,
    cost_per_image: 0.04,
    input_cost_per_second: 0.0001,
    cost_per_character: 0.000015,
  };
  expect(said(model(prices))).toEqual({
    input: "$0.15",
    cached: "$0.00",
    cacheWrite: "$0.15",
    output: "$0.60",
    reasoning: "$0.60",
    image: "$0.04",
    audio: "$0.006",
    characters: "$15.00",
  });
});

it("tells a price that is missing from one of 0, and what holds in its place", () => {
  const why = Object.fromEntries(PRICE_COLUMNS.map((column) => [column.id, priceCell(model({}), column).why]));
  expect(why).toMatchObject({ input: null, cached: "sameAsInput", reasoning: "sameAsOutput", image: null });
  expect(Object.values(said(model({})))).toEqual(PRICE_COLUMNS.map(() => "–"));
});
