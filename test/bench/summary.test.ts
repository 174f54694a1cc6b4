import { describe, expect, test } from "vitest";
import { figuresOf } from "./figures.ts";
import { LOADS, type TargetName } from "./loads.ts";
import type { Sample } from "./measure.ts";
import { type Measured, ratesWithin, summaryOf } from "./summary.ts";

/** One round of a target that answered `inTime` requests in a second, each after `ms`. */
function sample(name: string, target: TargetName, round: number, inTime: number, ms: number): Sample {
  const load = LOADS.find((each) => each.name === name);
  if (load === undefined) throw new Error(`there is no load ${name}`);
  const times = { firstMs: new Float64Array(), addedGapMs: new Float64Array(), longestGapMs: 0 };
  const latencyMs = new Float64Array(inTime).fill(ms);
  const result = { sent: inTime, endedWell: inTime, elapsedMs: 1000, failures: {}, latencyMs, ...times };
  return { load, target, round, result, cpuMs: 500, besideCpuMs: 100, peakMb: 164 };
}

function measured(samples: readonly Sample[]): Measured {
  const targets = [...new Set(samples.map(({ target }) => target))];
  const [first] = samples;
  if (first === undefined) throw new Error("no samples");
  return { load: first.load, figures: targets.map((target) => figuresOf(samples, target)) };
}

const c1 = measured([
  sample("c1", "direct", 0, 1000, 1),
  sample("c1", "floor", 0, 500, 2),
  sample("c1", "governed", 0, 250, 4),
]);
const c32 = measured([
  sample("c32", "governed", -1, 9999, 1),
  sample("c32", "floor", 0, 1000, 8),
  sample("c32", "governed", 0, 500, 16),
  sample("c32", "peer", 0, 400, 20),
  sample("c32", "floor", 1, 100, 80),
  sample("c32", "governed", 1, 70, 90),
  sample("c32", "peer", 1, 35, 95),
]);

describe("the summary", () => {
  test("holds medians of ratios within rounds, and nothing of the round that warms up", () => {
    const summary = summaryOf([c1, c32]);
    expect(summary.governed_over_floor_c32).toBeCloseTo(0.6);
    expect(summary.governed_over_peer_c32).toBeCloseTo(1.625);
    expect(summary.governed_over_floor_c1).toBeCloseTo(0.5);
    expect(summary.added_p50_ms_c1).toBeCloseTo(3, 1);
  });

  test("holds what several Worker processes bring, and what they take of the one with the objects", () => {
    const many = measured([
      sample("workers-many", "front", 0, 1000, 8),
      sample("workers-many", "workers", 0, 2000, 4),
      sample("workers-many", "front", 1, 1000, 8),
      sample("workers-many", "workers", 1, 1000, 8),
    ]);
    const summary = summaryOf([c32, many]);
    expect(summary.workers_over_one_process).toBeCloseTo(1.5);
    expect(summary.object_process_cpu_ms).toBeCloseTo(0.375);
    expect([summary.workers_over_one_process_one_tenant, summary.object_process_cpu_ms_one_tenant]).toEqual([
      null,
      null,
    ]);
  });

  test("says null of what was not measured", () => {
    const { governed_over_floor_c16, governed_over_floor_c64, stream_over_native } = summaryOf([c1, c32]);
    expect([governed_over_floor_c16, governed_over_floor_c64, stream_over_native]).toEqual([null, null, null]);
    expect(summaryOf([c1]).governed_over_peer_c32).toBeNull();
  });
});

test("rates are the highest whose p99 keeps a bound", () => {
  const rates = ratesWithin([c1, c32]);
  expect(rates.governed).toEqual({ p99_within_5_ms: 250, p99_within_10_ms: 250, p99_within_50_ms: 250 });
  expect(rates.peer).toEqual({ p99_within_5_ms: null, p99_within_10_ms: null, p99_within_50_ms: null });
});

test("figures count what was sent while warming up, for the rows that it leaves", () => {
  const governed = c32.figures.find(({ target }) => target === "governed");
  expect(governed?.sent).toBe(9999 + 500 + 70);
  expect(governed?.rounds).toBe(2);
  expect(governed?.cpuMsPerRequest?.min).toBeCloseTo(1);
});
