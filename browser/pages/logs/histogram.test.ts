/** The histogram over the list covers its period, and a window of it is what was chosen. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { UsageLogFacets } from "../../../shared/schema/log-facets.ts";
import { barAt, barsOf, movedChoice, windowOfBars } from "./histogram.ts";

const WIDTH = 1000;
const counted = (from_ms: number, to_ms: number, buckets: UsageLogFacets["buckets"] = []): UsageLogFacets => ({
  from_ms,
  to_ms,
  bucket_ms: WIDTH,
  buckets,
  facets: [],
});
const bucket = (bucket_ms: number, requests: number, refused_requests = 0, failed_requests = 0, left_requests = 0) => ({
  bucket_ms,
  requests,
  refused_requests,
  failed_requests,
  left_requests,
});

describe("the bars", () => {
  it("cover the period without a gap, and have every request of its buckets", () => {
    const period = fc.tuple(fc.integer({ min: 0, max: 1e12 }), fc.integer({ min: 0, max: 90_000 }));
    fc.assert(
      fc.property(
        period,
        fc.array(fc.tuple(fc.nat(), fc.integer({ min: 1, max: 9 })), { maxLength: 9 }),
        (times, seen) => {
          const [from, lasts] = times;
          const first = Math.floor(from / WIDTH);
          const count = Math.floor((from + lasts) / WIDTH) - first + 1;
          const byStart = new Map(seen.map(([at, requests]) => [(first + (at % count)) * WIDTH, requests]));
          const buckets = [...byStart].sort(([a], [b]) => a - b).map(([start, requests]) => bucket(start, requests));
          const bars = barsOf(counted(from, from + lasts, buckets));
          expect(bars[0]?.fromMs).toBeLessThanOrEqual(from);
          expect(bars.at(-1)?.beforeMs).toBeGreaterThan(from + lasts);
          expect(bars.filter((bar, at) => at > 0 && bar.fromMs !== bars[at - 1]?.beforeMs)).toEqual([]);
          const sum = (of: readonly { readonly requests: number }[]): number =>
            of.reduce((all, one) => all + one.requests, 0);
          expect(sum(bars)).toBe(sum(buckets));
        },
      ),
    );
  });

  it("split requests by outcome, never below 0", () => {
    const [bar, broken] = barsOf(counted(0, WIDTH, [bucket(0, 10, 2, 3, 1), bucket(WIDTH, 1, 1, 1, 0)]));
    expect(bar).toMatchObject({ served: 4, refused: 2, failed: 3, left: 1 });
    expect(broken).toMatchObject({ served: 0 });
  });

  it("are at most 200", () => {
    expect(barsOf(counted(0, 1e15)).length).toBeLessThanOrEqual(200);
    expect(barsOf({ ...counted(0, 10), bucket_ms: 0 })).toEqual([]);
  });
});

describe("a choice", () => {
  const bars = barsOf(counted(0, 9 * WIDTH));

  it("includes both ends, in either direction", () => {
    const window = { from_ms: 2 * WIDTH, to_ms: 5 * WIDTH - 1 };
    expect({
      forwards: windowOfBars(bars, { anchor: 2, at: 4 }),
      backwards: windowOfBars(bars, { anchor: 4, at: 2 }),
    }).toEqual({ forwards: window, backwards: window });
    expect(windowOfBars([], { anchor: 0, at: 0 })).toBeNull();
  });

  it.each([
    ["ArrowLeft", false, { anchor: 2, at: 2 }],
    ["ArrowRight", true, { anchor: 5, at: 4 }],
    ["Home", true, { anchor: 5, at: 0 }],
    ["End", false, { anchor: 9, at: 9 }],
    ["a", false, null],
    ["constructor", false, null],
  ])("moves by %s (Shift: %s)", (key, shiftKey, expected) => {
    expect(movedChoice({ anchor: 5, at: 3 }, { key, shiftKey }, 10)).toEqual(expected);
  });

  it("stays within the bars", () => {
    expect({ left: movedChoice({ anchor: 0, at: 0 }, { key: "ArrowLeft", shiftKey: false }, 3)?.at }).toEqual({
      left: 0,
    });
    expect([barAt(10, -1), barAt(10, 0.55), barAt(10, 2)].join()).toBe("0,5,9");
  });
});
