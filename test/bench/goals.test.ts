import { describe, expect, test } from "vitest";
import { figuresOf } from "./figures.ts";
import { goalsOf, heldKb, isReached } from "./goals.ts";
import { LOADS } from "./loads.ts";
import type { Measured } from "./summary.ts";

describe("a goal", () => {
  test("is reached on its side of the bound, the bound included", () => {
    expect(isReached({ what: "", value: 0.6, atLeast: 0.6 })).toBe(true);
    expect(isReached({ what: "", value: 0.59, atLeast: 0.6 })).toBe(false);
    expect(isReached({ what: "", value: 1.5, atMost: 1.5 })).toBe(true);
    expect(isReached({ what: "", value: 1.51, atMost: 1.5 })).toBe(false);
  });

  test("that was not measured is neither reached nor missed", () => {
    expect(isReached({ what: "", value: null, atLeast: 1 })).toBeNull();
    expect(isReached({ what: "", value: Number.NaN, atMost: 1 })).toBeNull();
    expect(goalsOf([], null).map(isReached)).toEqual(goalsOf([], null).map(() => null));
  });
});

test("what a waiting request holds is what one more of them adds, without what the first crowd leaves", () => {
  const none = new Float64Array();
  const times = { latencyMs: new Float64Array([1]), firstMs: none, addedGapMs: none, longestGapMs: 0 };
  const result = { sent: 1, endedWell: 1, elapsedMs: 1, failures: {}, ...times };
  const queue = (name: string, peaksMb: readonly number[]): Measured[] =>
    LOADS.filter((load) => load.name === name).map((load) => {
      const cpu = { cpuMs: 1, besideCpuMs: 1 };
      const samples = peaksMb.map((peakMb, round) => ({
        load,
        target: "governed" as const,
        round,
        result,
        ...cpu,
        peakMb,
      }));
      return { load, figures: [figuresOf(samples, "governed")] };
    });
  const all = [...queue("queue-1000", [500, 700]), ...queue("queue", [600, 900])];
  expect(heldKb(all, "governed")).toBeCloseTo(102.4);
  expect(heldKb(all, "floor")).toBeNull();
  expect(heldKb(all.slice(1), "governed")).toBeNull();
});
