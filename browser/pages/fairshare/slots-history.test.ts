/** The chart of slots shows what the samples say, and nothing where there are none. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { FairshareSample } from "../../../shared/schema/load.ts";
import { BATCHES_ID, joinedSamples, RANGES, slotsHistory, withSample } from "./slots-history.ts";

const NOW_MS = Date.parse("2026-11-23T10:00:00Z");

function sample(ts_ms: number, slots: Readonly<Record<string, number>>, queued = 0): FairshareSample {
  const parts = Object.entries(slots);
  return {
    ts_ms,
    max_in_flight: 8,
    global_in_flight: parts.reduce((sum, [, count]) => sum + count, 0),
    global_queued: queued,
    groups: parts.map(([name, in_flight]) => ({ name, in_flight, queued: 0 })),
    tenants: parts.map(([name, in_flight]) => ({ tenant_id: `id of ${name}`, name, in_flight, queued: 0 })),
  };
}

describe("slots over time", () => {
  it("are means over each point, and a missing sample is zero", () => {
    const pointMs = NOW_MS - 60_000;
    const samples = [0, 2000, 4000, 6000, 8000].map((afterMs) => sample(pointMs + afterMs, { a: 2, b: 1 }, 5));
    const { atMs, series, queued } = slotsHistory(
      [...samples, sample(NOW_MS - 10_000, { a: 5 })],
      "15m",
      "group",
      NOW_MS,
    );
    const at = atMs.indexOf(pointMs);
    expect(series.map(({ name, values }) => [name, values[at], values[at + 1], values[at + 5]])).toEqual([
      ["a", 2, 0, 1],
      ["b", 1, 0, 0],
    ]);
    expect({ atPoint: queued[at], afterPoint: queued[at + 1] }).toEqual({ atPoint: 5, afterPoint: 0 });
  });

  it("show lines of batches apart, which are in no group and of no tenant", () => {
    const samples = [{ ...sample(NOW_MS, { a: 2 }), global_in_flight: 7 }, sample(NOW_MS + 2000, { a: 2 })];
    for (const division of ["group", "tenant"] as const) {
      const { series } = slotsHistory(samples, "1h", division, NOW_MS + 4000);
      expect(series.map(({ id, values }) => ({ id, last: values.at(-1) }))).toEqual([
        { id: BATCHES_ID, last: 2.5 },
        { id: division === "group" ? "a" : "id of a", last: 2 },
      ]);
    }
  });

  it("count the current point over the time that has passed of it", () => {
    const { series } = slotsHistory(
      [sample(NOW_MS, { a: 4 }), sample(NOW_MS + 2000, { a: 4 })],
      "1h",
      "tenant",
      NOW_MS + 4000,
    );
    expect(series).toMatchObject([{ id: "id of a", name: "a" }]);
    expect(series[0]?.values.at(-1)).toBe(4);
  });

  it("never exceed what one sample had, and leave out nobody who had a slot", () => {
    const samples = fc.array(
      fc.record({ agoMs: fc.integer({ min: -10_000, max: 4_000_000 }), slots: fc.integer({ min: 0, max: 1000 }) }),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(samples, fc.constantFrom("15m", "1h"), (drawn, range) => {
        const given = drawn.map(({ agoMs, slots }) => sample(NOW_MS - agoMs, { a: slots }));
        const { atMs, series } = slotsHistory(given, range, "group", NOW_MS);
        const most = drawn.reduce((largest, { slots }) => Math.max(largest, slots), 0);
        const firstMs = atMs[0] ?? 0;
        const endMs = (atMs.at(-1) ?? 0) + RANGES[range].stepMs;
        const seen = given.filter(
          ({ ts_ms, global_in_flight }) => global_in_flight > 0 && ts_ms >= firstMs && ts_ms < endMs,
        );
        expect(series.length).toBe(seen.length > 0 ? 1 : 0);
        for (const value of series.flatMap(({ values }) => values)) {
          expect(value).toBeGreaterThanOrEqual(0);
          expect(value).toBeLessThanOrEqual(most);
        }
      }),
    );
  });
});

describe("samples", () => {
  it("of the live view follow those of the history, each instant once", () => {
    const [first, second, third] = [1000, 3000, 5000].map((ts_ms) => sample(ts_ms, { a: 1 }));
    if (first === undefined || second === undefined || third === undefined) throw new Error("three samples");
    const live = [second, third, second, third].reduce(withSample, [] as readonly FairshareSample[]);
    expect(live).toEqual([second, third]);
    expect(joinedSamples([first, second], live)).toEqual([first, second, third]);
  });
});
