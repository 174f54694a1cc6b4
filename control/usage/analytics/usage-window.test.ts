import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { QUARTER_MS } from "../../../shared/time/zone-days.ts";
import { type Detail, type Reach, stretchesOf, type UsageWindow } from "./usage-window.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
const NOW = 100 * DAY_MS + 9 * HOUR_MS;

/** The stretches of a window, times in days. */
const inDays = (detail: Detail, fromDay: number, beforeDay: number, reach: Reach) =>
  stretchesOf({ fromMs: fromDay * DAY_MS, beforeMs: beforeDay * DAY_MS }, reach, { detail, onlyRows: false }, NOW).map(
    ({ table, fromMs, beforeMs }) => `${table} ${fromMs / DAY_MS}-${beforeMs / DAY_MS}`,
  );

describe("the stretches of a window", () => {
  const reach = { rowsFromMs: 90 * DAY_MS, quartersFromMs: 50.5 * DAY_MS };

  it.each([
    ["sums", ["days 40-100", "requests 100-101"]],
    ["quarters", ["days 40-51", "quarters 51-101"]],
    ["requests", ["days 40-51", "quarters 51-90", "requests 90-101"]],
    ["listed", ["requests 39.75-90", "days 90-100", "requests 100-101"]],
  ] as const)("of %s are of the tables that have them", (detail, expected) => {
    expect(inDays(detail, 39.75, 101, reach)).toEqual(expected);
  });

  it("are rows before the quarters of a store that an older version has filled", () => {
    const young = { rowsFromMs: 90 * DAY_MS, quartersFromMs: 95.5 * DAY_MS };
    expect(inDays("quarters", 89, 100, young)).toEqual(["days 89-90", "requests 90-95.5", "quarters 95.5-100"]);
  });

  it("follow each other, and have the same time whatever is needed", () => {
    const at = fc.integer({ min: 0, max: 101 * 96 * 4 }).map((part) => (part * QUARTER_MS) / 4);
    const midnight = fc.integer({ min: 0, max: 101 }).map((day) => day * DAY_MS);
    fc.assert(
      fc.property(at, at, midnight, at, (one, other, rowsFromMs, quarters) => {
        const window: UsageWindow = { fromMs: Math.min(one, other), beforeMs: Math.max(one, other) };
        const young = { rowsFromMs, quartersFromMs: Math.floor(quarters / QUARTER_MS) * QUARTER_MS };
        const lasts = (["sums", "quarters", "requests"] as const).map((detail) => {
          const found = stretchesOf(window, young, { detail, onlyRows: false }, NOW);
          found.reduce((endMs, part) => {
            expect(part.fromMs).toBeGreaterThanOrEqual(endMs);
            expect(part.beforeMs).toBeGreaterThan(part.fromMs);
            return part.beforeMs;
          }, window.fromMs);
          for (const { table, fromMs } of found) {
            if (table === "requests") expect(fromMs).toBeGreaterThanOrEqual(rowsFromMs);
            if (table === "quarters") expect(fromMs).toBeGreaterThanOrEqual(young.quartersFromMs);
          }
          return found.reduce((sum, part) => sum + part.beforeMs - part.fromMs, 0);
        });
        expect(new Set(lasts).size).toBe(1);
      }),
    );
  });
});
