/** The price of 0 is one that nobody has set, in the list of models as in the price list. */
import { expect, it } from "vitest";
import { pricesText } from "./prices-text.ts";

it.each([
  [2.5e-6, 1e-5, "$2.50 / $10.00"],
  [5e-7, 0, "$0.50 / no price"],
  [0, 1e-6, "no price / $1.00"],
  [0, 0, "–"],
])("of %d and %d is %s", (input_cost_per_token, output_cost_per_token, text) => {
  expect(pricesText({ input_cost_per_token, output_cost_per_token })).toBe(text);
});
