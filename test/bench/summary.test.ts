import { describe, expect, test } from "vitest";
import { figuresOf } from "./figures.ts";
import { LOADS, type TargetName } from "./loads.ts";
import type { Sample } from "./measure.ts";
import { heldKb, type Measured, ratesWithin, summaryOf } from "./summary.ts";

/**
 * One round of a target that answered `inTime` requests in a second, each after `ms` milliseconds, which is also what its
 * gaps gained.
 */
function sample(name: string, target: TargetName, round: number, inTime: number, ms: number): Sample {
  const load = LOADS.find((each) => each.name === name);
  if (load === undefined) throw new Error(`there is no load ${name}`);
  const latencyMs = new Float64Array(inTime).fill(ms);
  const times = { firstMs: new Float64Array(), addedGapMs: latencyMs, longestGapMs: 0 };
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
const body4m = measured([sample("body-4m", "floor", 0, 200, 20), sample("body-4m", "governed", 0, 110, 36)]);

const cache = measured([sample("cache", "floor", 0, 1000, 8), sample("cache", "governed", 0, 450, 16)]);

describe("the summary", () => {
  test("holds medians of ratios within rounds, and nothing of the warm-up round", () => {
    const summary = summaryOf([c1, c32, cache]);
    expect(summary.governed_over_floor_c32).toBeCloseTo(0.6);
    expect(summary.governed_over_peer_c32).toBeCloseTo(1.625);
    expect(summary.governed_over_floor_c1).toBeCloseTo(0.5);
    expect(summary.governed_over_floor_cache).toBeCloseTo(0.45);
    expect(summary.added_p50_ms_c1).toBeCloseTo(3, 1);
    expect(summary.added_p50_over_floor_c1).toBeCloseTo(3, 1);
    expect(summaryOf([body4m]).governed_over_floor_body_4m).toBeCloseTo(0.55);
  });

  test("holds the CPU time of streams, and their gaps, relative to those of the floor", () => {
    const streams = (name: string): Measured =>
      measured([sample(name, "floor", 0, 1000, 8), sample(name, "governed", 0, 400, 20)]);
    const summary = summaryOf([streams("streams-150"), streams("streams-1000")]);
    expect(summary.stream_cpu_per_chunk_over_floor).toBeCloseTo(2.5);
    expect(summary.stream_cpu_per_chunk_over_floor_1000).toBeCloseTo(2.5);
    expect(summary.stream_gap_p99_over_floor_1000).toBeCloseTo(2.5, 1);
    expect(summaryOf([measured([sample("streams-150", "floor", 0, 1, 8)])])).toMatchObject({
      stream_cpu_per_chunk_over_floor: null,
      stream_gap_p99_over_floor_1000: null,
    });
  });

  test("holds the speedup of several Worker processes and the CPU time of the object process", () => {
    const many = measured([
      sample("workers-many", "front", 0, 1000, 8),
      sample("workers-many", "workers", 0, 2000, 4),
      sample("workers-many", "front", 1, 1000, 8),
      sample("workers-many", "workers", 1, 1000, 8),
    ]);
    const summary = summaryOf([c32, many]);
    expect(summary.workers_over_one_process).toBeCloseTo(1.5);
    expect(summary.object_process_cpu_ms).toBeCloseTo(0.375);
    expect({
      workers_over_one_process_one_tenant: summary.workers_over_one_process_one_tenant,
      object_process_cpu_ms_one_tenant: summary.object_process_cpu_ms_one_tenant,
    }).toEqual({ workers_over_one_process_one_tenant: null, object_process_cpu_ms_one_tenant: null });
  });

  test("holds the CPU time with disabled policies relative to none in the same round", () => {
    const off = measured([
      sample("guardrails", "governed", 0, 1000, 1),
      sample("guardrails", "switched-off", 0, 800, 1),
      sample("guardrails", "governed", 1, 500, 1),
      sample("guardrails", "switched-off", 1, 500, 1),
    ]);
    expect(summaryOf([off]).switched_off_cpu_over_governed).toBeCloseTo(1.125);
    expect(summaryOf([c32]).switched_off_cpu_over_governed).toBeNull();
  });

  test("has null for what was not measured", () => {
    const { governed_over_floor_c16, governed_over_floor_c64, stream_over_native } = summaryOf([c1, c32]);
    expect({ governed_over_floor_c16, governed_over_floor_c64, stream_over_native }).toEqual({
      governed_over_floor_c16: null,
      governed_over_floor_c64: null,
      stream_over_native: null,
    });
    const { governed_over_peer_c32, governed_over_floor_cache } = summaryOf([c1]);
    expect({ governed_over_peer_c32, governed_over_floor_cache }).toEqual({
      governed_over_peer_c32: null,
      governed_over_floor_cache: null,
    });
    expect(summaryOf([c1]).governed_over_floor_body_4m).toBeNull();
  });
});

test("rates are the highest whose p99 keeps a bound", () => {
  const rates = ratesWithin([c1, c32]);
  expect(rates.governed).toEqual({ p99_within_5_ms: 250, p99_within_10_ms: 250, p99_within_50_ms: 250 });
  expect(rates.peer).toEqual({ p99_within_5_ms: null, p99_within_10_ms: null, p99_within_50_ms: null });
});

test("figures count the requests of the warm-up, because they leave rows", () => {
  const governed = c32.figures.find(({ target }) => target === "governed");
  expect(governed?.sent).toBe(9999 + 500 + 70);
  expect(governed?.rounds).toBe(2);
  expect(governed?.cpuMsPerRequest?.min).toBeCloseTo(1);
});

test("the memory per waiting request is what each further one adds to the first crowd's", () => {
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
