/** Numbers as people read them, and prices for a million: no digit is lost on the way into a control and back. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { bodyOf, draftOf } from "./drafts.ts";
import type { FieldSpec } from "./field-specs.ts";
import { fieldLabel, valueText } from "./field-words.ts";
import { numberText } from "./number-text.ts";
import { perMillionOf, perMillionText, perOneOf } from "./per-million.ts";

const PRICE: FieldSpec = { name: "input_cost_per_token", kind: "number", isNullable: false, choices: [] };
const typed = (text: string) => bodyOf([PRICE], { input_cost_per_token: 1 }, { input_cost_per_token: text }, "UTC");

it("shows numbers without powers of ten, as far as people read them, and none of another value", () => {
  expect([6e-7, 0.0000024, 1.25e-9, -3e-8, 0, 5e-324, 1e21].map(numberText)).toEqual([
    "0.0000006",
    "0.0000024",
    "0.00000000125",
    "-0.00000003",
    "0",
    "5e-324",
    "1e+21",
  ]);
  fc.assert(
    fc.property(fc.double({ noNaN: true }), (value) => {
      expect(Number(numberText(value))).toBe(value + 0);
    }),
  );
});

it("shows and takes the price of a token as that of a million, to the last digit", () => {
  expect([1.5e-7, 2.5e-6, 0, 1.2345e-6, 3e-11].map(perMillionText)).toEqual(["0.15", "2.5", "0", "1.2345", "0.00003"]);
  expect({ plain: typed("0.15"), power: typed("1.5e-1"), none: typed(""), wrong: typed("2,5") }).toEqual({
    plain: { input_cost_per_token: 1.5e-7 },
    power: { input_cost_per_token: 1.5e-7 },
    none: {},
    wrong: { input_cost_per_token: "2,5" },
  });
  const price = fc.tuple(fc.integer({ min: 1, max: 999_999 }), fc.integer({ min: -12, max: 0 }));
  fc.assert(
    fc.property(price, ([digits, power]) => {
      const perToken = Number(`${digits}e${power}`);
      const draft = draftOf([PRICE], { input_cost_per_token: perToken }, "UTC");
      expect(perOneOf(String(draft["input_cost_per_token"]))).toBe(perToken);
    }),
  );
});

it("names the price", () => {
  expect({
    label: fieldLabel("cached_input_cost_per_token"),
    characters: fieldLabel("cost_per_character"),
    value: valueText("output_cost_per_token", 0.00001, "UTC"),
    image: perMillionOf("cost_per_image"),
    imageValue: valueText("cost_per_image", 0.04, "UTC"),
  }).toEqual({
    label: "Cached input cost (USD per 1M tokens)",
    characters: "Cost (USD per 1M characters)",
    value: "10",
    image: null,
    imageValue: "0.04",
  });
});
