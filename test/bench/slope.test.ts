import { expect, test } from "vitest";
import { slopePerMinute } from "./slope.ts";

test("a straight line has its own slope", () => {
  const readings = [0, 1, 2, 3].map((minute) => ({ atMs: 60_000 * minute + 7, value: 100 + 3 * minute }));
  expect(slopePerMinute(readings)).toBeCloseTo(3);
});

test("values that rise and fall evenly have the slope 0", () => {
  const readings = [1, -1, -1, 1].map((value, minute) => ({ atMs: 60_000 * minute, value }));
  expect(slopePerMinute(readings)).toBeCloseTo(0);
});

test("a single moment has no slope", () => {
  expect(slopePerMinute([])).toBeNull();
  expect(
    slopePerMinute([
      { atMs: 5, value: 1 },
      { atMs: 5, value: 2 },
    ]),
  ).toBeNull();
});
