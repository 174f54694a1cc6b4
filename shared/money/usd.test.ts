import fc from "fast-check";
import { expect, it } from "vitest";
import { roundUsd } from "./usd.ts";

it("has at most nine decimals, and differs by at most half of the last", () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 9_000_000, noNaN: true }), (usd) => {
      const rounded = roundUsd(usd);
      expect(Math.abs(rounded - usd)).toBeLessThanOrEqual(0.5e-9 + usd * Number.EPSILON);
      expect(Number(rounded.toFixed(9))).toBe(rounded);
      expect(roundUsd(rounded)).toBe(rounded);
    }),
  );
});

it("is a number that JSON can represent, whatever it is made from", () => {
  fc.assert(
    fc.property(fc.double(), (usd) => {
      const rounded = roundUsd(usd);
      expect(Number.isFinite(rounded)).toBe(true);
      expect(JSON.parse(JSON.stringify(rounded))).toBeCloseTo(rounded, 9);
    }),
  );
});

it.each([
  [0.1 + 0.2, 0.3],
  [0.000000123456789, 0.000000123],
  [1.0000000016, 1.000000002],
  [1e308, 1e308],
  [Number.POSITIVE_INFINITY, Number.MAX_VALUE],
  [Number.NaN, 0],
])("%d is %d", (usd, rounded) => {
  expect(roundUsd(usd)).toBe(rounded);
});
