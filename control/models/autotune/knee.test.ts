/** When a capacity probe stops, and what it recommends (docs/rules/autotune.md#stops-and-recommendation). */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ladderOf, reasonToStop, recommend } from "./knee.ts";
import { type LoadSample, type LoadStep, measuredStep } from "./step.ts";

const TARGET_MS = 100;

function step(concurrency: number, throughputRps: number, more: Partial<LoadStep> = {}): LoadStep {
  return {
    concurrency,
    throughputRps,
    lowestRps: throughputRps,
    p50Ms: 10,
    p99Ms: 20,
    requests: 100,
    errors: 0,
    ...more,
  };
}

const ladder = ladderOf(8);
const verdict = (steps: readonly LoadStep[]) => reasonToStop(steps, TARGET_MS, ladder);

it("doubles up to the maximum, which is always the last step", () => {
  expect([1, 2, 3, 64, 100].map(ladderOf)).toEqual([
    [1],
    [1, 2],
    [1, 2, 3],
    [1, 2, 4, 8, 16, 32, 64],
    [1, 2, 4, 8, 16, 32, 64, 100],
  ]);
});

describe("a probe", () => {
  it.each<[string, readonly LoadStep[], string | null, number]>([
    ["continues while it pays", [step(1, 10), step(2, 20)], null, 2],
    ["ends with the ladder", [step(1, 10), step(2, 20), step(4, 40), step(8, 80)], "max_concurrency", 8],
    ["ends where a doubling brings less than 7 %", [step(1, 10), step(2, 20), step(4, 21.3)], "plateau", 2],
    ["ends where a run brings less", [step(1, 10), step(2, 20), step(4, 30, { lowestRps: 21.3 })], "plateau", 2],
    ["continues at more", [step(1, 10), step(2, 20), step(4, 21.5)], null, 4],
    ["ends where p99 passes the target", [step(1, 10), step(2, 20, { p99Ms: 100.1 })], "slo_breach", 1],
    ["continues at the target", [step(1, 10), step(2, 20, { p99Ms: 100 })], null, 2],
    ["ends where more than a tenth fails", [step(1, 10), step(2, 20, { errors: 11 })], "slo_breach", 1],
    ["continues at a tenth", [step(1, 10), step(2, 20, { errors: 10 })], null, 2],
    ["recommends 1 when nothing holds the target", [step(1, 10, { p99Ms: 500 })], "slo_breach", 1],
    ["says when nothing was answered", [step(1, 0, { p99Ms: null, errors: 100 })], "no_data", 1],
    ["says a breach when nothing is answered any more", [step(1, 10), step(2, 0, { errors: 100 })], "slo_breach", 1],
  ])("%s", (_, steps, reason, concurrency) => {
    expect({ verdict: verdict(steps), maxInFlight: recommend(steps, TARGET_MS).maxInFlight }).toEqual({
      verdict: reason,
      maxInFlight: concurrency,
    });
  });

  it("never recommends a concurrency that missed the target or was not tried", () => {
    const anyStep = fc.record({
      throughputRps: fc.double({ min: 0, max: 1e6, noNaN: true }),
      p99Ms: fc.option(fc.double({ min: 0, max: 1000, noNaN: true })),
      errors: fc.nat(100),
    });
    fc.assert(
      fc.property(fc.array(anyStep, { maxLength: 9 }), (measured) => {
        const steps = measured.map((more, at) => step(2 ** at, more.throughputRps, more));
        const { maxInFlight, throughputRps } = recommend(steps, TARGET_MS);
        const chosen = steps.find(({ concurrency }) => concurrency === maxInFlight);
        if (throughputRps === 0 && maxInFlight === 1) return;
        expect(chosen?.throughputRps).toBe(throughputRps);
        expect(chosen?.p99Ms).toBeLessThanOrEqual(TARGET_MS);
        expect(chosen?.errors).toBeLessThanOrEqual(10);
      }),
    );
  });
});

describe("a step", () => {
  const sample = (startedMs: number, endedMs: number, outcome: LoadSample["outcome"] = "ok"): LoadSample => ({
    startedMs,
    endedMs,
    outcome,
  });

  it("counts successes per second while there was load, and does not count errors", () => {
    const samples = [sample(0, 1000), sample(0, 1000, "error"), sample(1000, 2000), sample(1000, 2000)];
    expect(measuredStep(2, [samples])).toMatchObject({ concurrency: 2, throughputRps: 1.5, requests: 4, errors: 1 });
  });

  it("is not slower because some workers have nothing left to do", () => {
    const quick = Array.from({ length: 20 }, (_, at) => sample(at * 100, at * 100 + 100));
    expect(measuredStep(2, [[...quick, sample(1900, 9000)]]).throughputRps).toBe(10);
  });

  it("counts timeouts with their latency, and ignores one slow request", () => {
    const quick = Array.from({ length: 18 }, () => sample(0, 10));
    expect(measuredStep(1, [[...quick, sample(0, 500, "timeout")]])).toMatchObject({ p50Ms: 10, p99Ms: 10, errors: 1 });
    const twice = [...quick, sample(0, 500, "timeout"), sample(0, 400)];
    expect(measuredStep(1, [twice])).toMatchObject({ p99Ms: 400, requests: 20, errors: 1 });
    expect(measuredStep(1, [[...twice, sample(0, 9, "error")]])).toMatchObject({ p99Ms: 400 });
    expect(measuredStep(1, [[sample(0, 70)]])).toMatchObject({ p50Ms: 70, p99Ms: 70 });
    expect(measuredStep(1, [[sample(0, 5, "error")]])).toMatchObject({ p50Ms: null, p99Ms: null, throughputRps: 0 });
  });
});
