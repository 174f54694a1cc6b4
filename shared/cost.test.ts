import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { costUsd, MAX_COST_USD, type Measure } from "./cost.ts";

const prices = { input: 0.000_000_15, output: 0.000_000_6, image: 0.04, character: 0.000_015 };
const tokens = { inputTokens: 1_000_001, outputTokens: 3 };

describe("what a request costs (decisions §23.3)", () => {
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

  it("carries no dust of binary fractions", () => {
    const cost = (inputTokens: number) =>
      costUsd({ ...prices, input: 0.1 }, { kind: "input-tokens" }, { inputTokens, outputTokens: 0 });
    expect([cost(3), 0.1 * 3]).toEqual([0.3, 0.300_000_000_000_000_04]);
  });

  it("is a number from 0 to what budgets count, whatever prices and counts are", () => {
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
