/** Values of fields as a page shows them. */
import { expect, it } from "vitest";
import { factText } from "./fact-text.ts";

const shown = (name: string, value: unknown): string => factText(name, value, "UTC");

it("shows prices as money, like the lists, and a price of 0 as it is typed", () => {
  expect([
    shown("input_cost_per_token", 6e-7),
    shown("output_cost_per_token", 2.4e-6),
    shown("cost_per_image", 0.04),
    shown("input_cost_per_second", 0.0001),
    shown("input_cost_per_token", 0),
  ]).toEqual(["$0.60", "$2.40", "$0.04", "$0.0001", "0"]);
});

it("shows reasons of a fallback by their names", () => {
  expect(shown("fallback_on", ["failure"])).toBe("Failure");
});
