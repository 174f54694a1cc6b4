/** Whatever the numbers are: no path and no bar holds NaN, all lie within their box, and parts add up to their whole. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hostileNumber } from "../../test/harness/any-number.ts";
import { type ChartSeries, chartData, movedCursor, seriesWithRest, timeBounds, valueTicks } from "./chart-data.ts";
import { drawn, drawnPart } from "./numbers.ts";
import { barOf, largestAndRest } from "./parts.ts";
import { keptColors, REST_ID } from "./series-color.ts";
import { sparklinePath } from "./sparkline-path.ts";

const values = fc.array(fc.option(hostileNumber), { maxLength: 30 });
const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, value) => sum + value, 0);

describe("sparklinePath", () => {
  it("stays within its box, and draws every known value", () => {
    fc.assert(
      fc.property(values, (list) => {
        const path = sparklinePath(list, 100, 20);
        const points = [...path.matchAll(/[ML](\S+?) ([^MLh]+)/g)].map(([, x, y]) => [Number(x), Number(y)] as const);
        expect(points).toHaveLength(list.filter((value) => drawn(value) !== null).length);
        for (const [x, y] of points) expect(x >= 0 && x <= 100 && y >= 0 && y <= 20).toBe(true);
        expect(path).not.toMatch(/NaN|Infinity|e/);
      }),
    );
  });

  it("has its bottom at 0 and breaks at what is not known", () => {
    expect(sparklinePath([0, 5, 10], 100, 20)).toBe("M0 20L50 10L100 0");
    expect(sparklinePath([1, null, 1, 1], 90, 20)).toBe("M0 0h0M60 0L90 0");
    expect(sparklinePath([0, 0], 100, 20)).toBe("M0 20L100 20");
    expect(sparklinePath([null], 100, 20)).toBe("");
  });
});

describe("barOf", () => {
  it("has parts and rest that fill it without gap or overlap, within 0 and 1", () => {
    fc.assert(
      fc.property(fc.array(hostileNumber, { maxLength: 20 }), fc.option(hostileNumber), (parts, cap) => {
        const bar = barOf(parts, (part) => part, cap);
        let end = 0;
        for (const { from, length } of bar.parts) {
          expect(from).toBeCloseTo(end, 9);
          expect(length).toBeGreaterThanOrEqual(0);
          end = from + length;
        }
        expect(end).toBeLessThanOrEqual(1 + 1e-9);
        expect(bar.left.from + bar.left.length).toBeLessThanOrEqual(1 + 1e-9);
        expect(bar.left.length).toBeGreaterThanOrEqual(0);
        if (bar.capAt !== null) expect(bar.capAt >= 0 && bar.capAt <= 1).toBe(true);
        expect(sumOf(bar.parts.map(({ value }) => value))).toBe(sumOf(parts.map(drawnPart)));
      }),
    );
  });

  it("shows a budget that is passed: the cap lies within the bar, and nothing is left", () => {
    expect(barOf([120, 30], (part) => part, 100)).toMatchObject({
      left: { value: 0, length: 0 },
      capAt: 100 / 150,
      beyond: 50,
    });
    expect(barOf([25], (part) => part, 100)).toMatchObject({ left: { value: 75, from: 0.25, length: 0.75 }, capAt: 1 });
    expect(barOf([0], (part) => part, 0)).toMatchObject({ parts: [], left: { length: 0 }, capAt: 1, beyond: 0 });
    expect(barOf([5], (part) => part, null)).toMatchObject({ parts: [{ from: 0, length: 1 }], capAt: null });
  });
});

describe("largestAndRest", () => {
  it("keeps the sum and the order, and has as many entries as wanted", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(1000), { maxLength: 40 }), fc.integer({ min: 1, max: 10 }), (numbers, most) => {
        const kept = largestAndRest(numbers, (value) => value, most, sumOf);
        expect(kept.length).toBe(Math.min(most, numbers.length));
        expect(sumOf(kept)).toBe(sumOf(numbers));
      }),
    );
  });
});

const series = fc
  .array(values, { maxLength: 6 })
  .map((lists) => lists.map((list, at): ChartSeries => ({ id: String(at), label: `series ${at}`, values: list })));

describe("chartData", () => {
  it("has ascending instants, and stacks whose tops are the sums of the parts below", () => {
    fc.assert(
      fc.property(fc.array(hostileNumber, { maxLength: 30 }), series, (atMs, list) => {
        const { atMs: at, values: own, tops, peak } = chartData(atMs, list, true);
        expect([...new Set(at)].sort((a, b) => a - b)).toEqual(at);
        expect(Number.isFinite(peak)).toBe(true);
        for (const index of at.keys()) {
          const known = own.some((line) => line[index] !== null);
          let sum = 0;
          for (const [which, line] of tops.entries()) {
            sum += drawnPart(own[which]?.[index]);
            expect(line[index]).toBe(known ? sum : null);
          }
          expect(sum).toBeLessThanOrEqual(peak);
        }
      }),
    );
  });

  it("takes the last of two values of one instant, and puts instants in order", () => {
    const one: ChartSeries = { id: "a", label: "a", values: [1, 2, 3] };
    expect(chartData([20, 10, 20], [one], false)).toEqual({
      atMs: [10, 20],
      values: [[2, 3]],
      tops: [[2, 3]],
      peak: 3,
    });
  });
});

describe("seriesWithRest", () => {
  it("adds up at each instant what it does not show alone", () => {
    fc.assert(
      fc.property(fc.array(fc.array(fc.nat(100), { minLength: 4, maxLength: 4 }), { maxLength: 12 }), (lists) => {
        const all = lists.map((list, at): ChartSeries => ({ id: String(at), label: "", values: list }));
        const shown = seriesWithRest(all, 4, "others");
        expect(shown.length).toBe(Math.min(4, all.length));
        const sumAt = (some: readonly ChartSeries[], index: number): number =>
          sumOf(some.map((one) => one.values[index] ?? 0));
        for (const index of [0, 1, 2, 3]) expect(sumAt(shown, index)).toBe(sumAt(all, index));
      }),
    );
  });
});

describe("keptColors", () => {
  const ids = fc.uniqueArray(fc.constantFrom("a", "b", "c", "d", "e", "f", "g", "h", "i", REST_ID), { maxLength: 8 });

  it("gives each series a colour of its own, which it keeps while it is shown; the rest is grey", () => {
    fc.assert(
      fc.property(fc.array(ids, { maxLength: 6 }), (shown) => {
        let before: ReadonlyMap<string, number> = new Map();
        for (const now of shown) {
          const after = keptColors(before, now);
          expect([...after.keys()].sort()).toEqual([...now].sort());
          expect(new Set(after.values()).size).toBe(now.length);
          for (const at of after.values()) expect(at >= 0 && at < 8).toBe(true);
          const isPushed = (at: number): boolean => now.includes(REST_ID) && at === 7;
          for (const id of now) {
            const had = before.get(id);
            if (had !== undefined && !isPushed(had)) expect(after.get(id)).toBe(had);
          }
          if (now.includes(REST_ID)) expect(after.get(REST_ID)).toBe(7);
          expect(keptColors(after, now)).toBe(after);
          before = after;
        }
      }),
    );
  });
});

describe("timeBounds", () => {
  const DAY_MS = 86_400_000;

  it("leaves half a day before the first bar and after the last one, so that both are whole", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1e12 }), fc.integer({ min: 1, max: 400 }), (fromMs, days) => {
        const starts = Array.from({ length: days }, (_, day) => fromMs + day * DAY_MS);
        for (const range of [{ fromMs, toMs: fromMs + days * DAY_MS }, null]) {
          const [from, to] = timeBounds(starts, range, true);
          expect({ before: fromMs - from, after: to - (starts.at(-1) ?? 0) }).toEqual({
            before: DAY_MS / 2,
            after: DAY_MS / 2,
          });
        }
      }),
    );
  });

  it("are those of the range for lines, and never of no width", () => {
    expect(timeBounds([5, 9], { fromMs: 1, toMs: 20 }, false)).toEqual([1, 20]);
    expect(timeBounds([5, 9], null, false)).toEqual([5, 9]);
    const [from, to] = timeBounds([5], null, false);
    expect(to).toBeGreaterThan(from);
  });
});

describe("valueTicks", () => {
  it("begin at 0, rise evenly, reach the peak, and are few", () => {
    fc.assert(
      fc.property(hostileNumber, fc.boolean(), (peak, isWhole) => {
        const ticks = valueTicks(peak, isWhole);
        expect(ticks[0]).toBe(0);
        expect(ticks.length).toBeGreaterThanOrEqual(2);
        expect(ticks.length).toBeLessThanOrEqual(6);
        expect(ticks.at(-1)).toBeGreaterThanOrEqual(drawnPart(peak) * (1 - 1e-6));
        for (const [at, tick] of ticks.slice(1).entries()) expect(tick).toBeGreaterThan(ticks[at] ?? Number.NaN);
        if (isWhole) expect(ticks.every(Number.isInteger)).toBe(true);
      }),
    );
  });

  it("are round", () => {
    expect(valueTicks(7, true)).toEqual([0, 2, 4, 6, 8]);
    expect(valueTicks(1, true)).toEqual([0, 1]);
    expect(valueTicks(0.3, false)).toEqual([0, 0.1, 0.2, 0.3]);
    expect(valueTicks(0, false)).toEqual([0, 1]);
  });
});

describe("movedCursor", () => {
  it("stays among the instants whatever is pressed", () => {
    const key = fc.constantFrom(
      "ArrowLeft",
      "ArrowRight",
      "Home",
      "End",
      "PageUp",
      "PageDown",
      "Escape",
      "a",
      "__proto__",
    );
    fc.assert(
      fc.property(fc.array(key), fc.nat(50), (keys, length) => {
        let at: number | null = null;
        for (const pressed of keys) {
          const moved = movedCursor(pressed, at, length);
          if (moved !== undefined) at = moved;
          if (at !== null) expect(at >= 0 && at < length).toBe(true);
        }
      }),
    );
  });
});
