import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AMOUNT_MAX, saturated } from "./amount.ts";
import { costUsd, MAX_COST_USD, type Measure } from "./cost.ts";

const prices = { input: 0.000_000_15, output: 0.000_000_6, image: 0.04, character: 0.000_015 };
const tokens = { inputTokens: 1_000_001, outputTokens: 3 };

describe("what a request costs (docs/rules/settlement-and-rows.md#cost)", () => {
  it.each<[Measure, number]>([
    [{ kind: "tokens" }, 0.150_001_95],
    [{ kind: "input-tokens" }, 0.150_000_15],
    [{ kind: "images", count: 3 }, 0.12],
    [{ kind: "images", count: 0 }, 0.04],
    [{ kind: "characters", count: 11 }, 0.000_165],
    [{ kind: "characters", count: 0 }, 0],
    [{ kind: "free" }, 0],
  ])("%j is %d USD", (measure, expected) => {
    expect(costUsd(prices, measure, tokens)).toBe(expected);
  });

  it("has no rounding errors of binary fractions", () => {
    const cost = (inputTokens: number) =>
      costUsd({ ...prices, input: 0.1 }, { kind: "input-tokens" }, { inputTokens, outputTokens: 0 });
    expect([cost(3), 0.1 * 3]).toEqual([0.3, 0.300_000_000_000_000_04]);
  });

  it("is a number from 0 to the largest amount of a budget, whatever prices and counts are", () => {
    const price = fc.double({ min: 0, noNaN: true, noDefaultInfinity: true });
    const count = fc.oneof(fc.maxSafeNat(), fc.constantFrom(0, 1, 1e308, Number.MAX_VALUE));
    fc.assert(
      fc.property(price, price, count, count, (input, output, inputTokens, outputTokens) => {
        const at = { input, output, image: input, character: output };
        const kinds: readonly Measure[] = [
          { kind: "tokens" },
          { kind: "images", count: inputTokens },
          { kind: "characters", count: outputTokens },
        ];
        for (const measure of kinds) {
          const cost = costUsd(at, measure, { inputTokens, outputTokens });
          expect(cost).toBeGreaterThanOrEqual(0);
          expect(cost).toBeLessThanOrEqual(MAX_COST_USD);
        }
      }),
    );
    const at = (input: number) => costUsd({ ...prices, input }, { kind: "input-tokens" }, tokens);
    expect([at(1e308), at(5e-324)]).toEqual([MAX_COST_USD, 0]);
  });

  it("of a sum of tokens is the sum of the costs", () => {
    const count = fc.nat(10_000_000);
    fc.assert(
      fc.property(count, count, fc.nat(1_000_000), (a, b, priceNano) => {
        const at = { ...prices, input: priceNano / 1e9 };
        const nano = (inputTokens: number) =>
          Math.round(costUsd(at, { kind: "input-tokens" }, { inputTokens, outputTokens: 0 }) * 1e9);
        expect(nano(a) + nano(b)).toBe(nano(a + b));
      }),
    );
  });
});

describe("an amount (docs/rules/budgets.md#amounts)", () => {
  it.each([
    [0, 0],
    [-0, 0],
    [1.9, 1],
    [-1, 0],
    [5e-324, 0],
    [2 ** 53 - 1, 2 ** 53 - 1],
    [2 ** 53, 2 ** 53 - 1],
    [1e308, 2 ** 53 - 1],
    [Number.POSITIVE_INFINITY, 2 ** 53 - 1],
    [Number.NEGATIVE_INFINITY, 0],
    [Number.NaN, 0],
  ])("of %d is %d", (value, amount) => {
    expect(saturated(value)).toBe(amount);
  });

  it("is the value of any cost in nano-USD, whatever the counts and prices", () => {
    fc.assert(
      fc.property(
        fc.record({ input: fc.double(), output: fc.double(), image: fc.double(), character: fc.double() }),
        fc.constantFrom("tokens", "input-tokens", "images", "characters", "free"),
        fc.tuple(fc.double(), fc.double(), fc.double()),
        (of, kind, [count, inputTokens, outputTokens]) => {
          const cost = costUsd(of, { kind, count } as Measure, { inputTokens, outputTokens });
          expect(cost >= 0 && Number.isSafeInteger(Math.round(cost * 1e9))).toBe(true);
        },
      ),
    );
  });

  it("never falls when more is counted or the price is higher", () => {
    const count = fc.oneof(fc.nat(), fc.integer({ min: 0, max: AMOUNT_MAX }));
    const price = fc.double({ min: 0, noNaN: true });
    fc.assert(
      fc.property(fc.tuple(count, count), fc.tuple(price, price), (counts, ofEach) => {
        const cost = (inputTokens: number, input: number) =>
          costUsd({ ...prices, input }, { kind: "input-tokens" }, { inputTokens, outputTokens: 0 });
        const [low, high] = [Math.min, Math.max];
        expect(cost(low(...counts), low(...ofEach))).toBeLessThanOrEqual(cost(high(...counts), high(...ofEach)));
      }),
    );
  });
});
