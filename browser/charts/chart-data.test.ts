import { expect, it } from "vitest";
import { axisPx, nearestTo, runsOf } from "./chart-data.ts";

it("the stretches of a line end at its gaps, and may be one instant", () => {
  expect(runsOf([null, 1, 0, null, 3, null, null, 4])).toEqual([
    [1, 2],
    [4, 4],
    [7, 7],
  ]);
  expect([runsOf([]), runsOf([null])]).toEqual([[], []]);
});

it("the nearest instant is before or after, and the earlier of two that are as near", () => {
  const at = [100, 200, 400];
  expect([0, 149, 150, 151, 301, 900].map((ms) => nearestTo(at, ms))).toEqual([0, 0, 0, 1, 2, 2]);
  expect(nearestTo([], 5)).toBe(-1);
});

it("an axis is as wide as its longest label, so that none is cut", () => {
  expect(axisPx(["0", "5"])).toBe(axisPx([]));
  expect(axisPx(["$0.00", "$0.000500"])).toBeGreaterThanOrEqual("$0.000500".length * 7);
});
