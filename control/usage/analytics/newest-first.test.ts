import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readNewestFirst, type TimeWindow, windowsOf } from "./newest-first.ts";

const instant = fc.integer({ min: 0, max: 4_000_000_000_000 });
const isIn = ({ fromMs, beforeMs }: TimeWindow, ms: number): boolean =>
  ms >= fromMs && (beforeMs === null || ms < beforeMs);

describe("the windows of a period", () => {
  it("contain every instant of it once, and no earlier instant", () => {
    fc.assert(
      fc.property(instant, instant, instant, (fromMs, aroundMs, ms) => {
        const holding = windowsOf({ fromMs, aroundMs }).filter((window) => isIn(window, ms));
        expect(holding).toHaveLength(ms >= fromMs ? 1 : 0);
      }),
    );
  });

  it("are few, however long it is", () => {
    expect(windowsOf({ fromMs: 0, aroundMs: 4_000_000_000_000 })).toHaveLength(6);
    expect(windowsOf({ fromMs: 1000, aroundMs: 0 })).toEqual([{ fromMs: 1000, beforeMs: null }]);
  });
});

describe("the newest rows of a period", () => {
  it("are the same as when the whole period is sorted", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: 2_000_000_000 })),
        fc.integer({ min: 1, max: 9 }),
        fc.integer({ min: 0, max: 2_000_000_000 }),
        async (times, limit, fromMs) => {
          const sorted = times.toSorted((a, b) => b - a);
          const page = await readNewestFirst({ fromMs, aroundMs: 1_900_000_000 }, limit, async (window, most) =>
            sorted.filter((ms) => isIn(window, ms)).slice(0, most),
          );
          expect(page).toEqual(sorted.filter((ms) => ms >= fromMs).slice(0, limit));
        },
      ),
    );
  });

  it("are searched no further back than needed", async () => {
    const asked: number[] = [];
    await readNewestFirst({ fromMs: 0, aroundMs: 1e12 }, 5, async (_, most) => {
      asked.push(most);
      return [1, 2, 3];
    });
    expect(asked).toEqual([5, 2]);
  });
});
