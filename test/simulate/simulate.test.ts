import { describe, expect, it } from "vitest";
import { jainIndex, measure, percentile } from "./measure.ts";
import { runScenario, type Window } from "./run.ts";
import { SCENARIOS, type Scenario, type TenantPlan } from "./scenarios.ts";
import { printedSeed } from "./seed.ts";

const SEED = printedSeed("simulate.test.ts");

function scenarioOf(name: string): Scenario {
  const scenario = SCENARIOS.find((known) => known.name === name);
  if (scenario === undefined) throw new Error(`no scenario ${name}`);
  return scenario;
}

const report = (name: string, seed = SEED) => measure(scenarioOf(name), runScenario(scenarioOf(name), seed));

describe("the simulator", () => {
  it("gives the same run for the same seed, and another for another", () => {
    expect(report("second-set")).toEqual(report("second-set"));
    expect(report("second-set")).not.toEqual(report("second-set", SEED + 1));
  });

  it.each(SCENARIOS.map((scenario) => scenario.name))("leaves no slot idle in %s", (name) => {
    expect(report(name).utilisation).toBeGreaterThan(0.999);
  });

  it.each(["500-vs-50", "500-vs-50-weighted", "second-set", "second-set-weighted", "crowd", "sizes"])(
    "shows shares within 5 %% of the entitlement and a Jain index of at least 0.99 in %s",
    (name) => {
      const { jain, sets } = report(name);
      expect(jain).toBeGreaterThanOrEqual(0.99);
      for (const { id, share, entitled } of sets)
        if (id !== "bulk") expect(Math.abs(share - entitled)).toBeLessThanOrEqual(0.05 * entitled);
    },
  );

  it("shows that ten thousand queued requests do not hold up the small ones", () => {
    const { tenants } = report("crowd");
    const small = tenants.filter((row) => row.id !== "bulk");
    // 51 tenants take turns on 16 slots: a round is 51 / 16 requests of at most 600 ms.
    expect(Math.max(...small.map((row) => row.waitP50Ms))).toBeLessThanOrEqual((51 / 16) * 600);
  });

  it("shows a second set of tenants at its share within seconds", () => {
    expect(report("second-set").convergeMs).toBeLessThanOrEqual(2000);
    expect(report("second-set-weighted").convergeMs).toBeLessThanOrEqual(5000);
  });

  it("calls a run converged only from the time on from which it stays converged", () => {
    const { tenants, ...scenario } = scenarioOf("second-set");
    const [first, second] = [tenants[0], tenants[4]].map((plan) => ({ ...plan, startMs: 0 }) as TenantPlan);
    if (first === undefined || second === undefined) throw new Error("no tenants");
    const window = (endMs: number, share: number): Window => ({
      endMs,
      held: new Map([
        [first.id, 16_000 * share],
        [second.id, 16_000 * (1 - share)],
      ]),
      tokens: new Map(),
      entitled: new Map([
        [first.id, 0.5],
        [second.id, 0.5],
      ]),
      waiting: new Set(),
    });
    const shares = [...Array(10).fill(0.5), ...Array(10).fill(0.9), ...Array(10).fill(0.5)] as number[];
    const windows = shares.map((share, at) => window(1000 * (at + 1), share));
    const measured = (given: readonly Window[]) =>
      measure(
        { ...scenario, joinMs: 0, tenants: [first, second] },
        { windows: given, waits: new Map(), stillWaitingMs: new Map(), leftQueued: 0 },
      );
    expect(measured(windows).convergeMs).toBe(21_000);
    expect(measured(windows.slice(0, 20)).convergeMs).toBeNull();
  });
});

describe("measures", () => {
  it("are exact on small cases", () => {
    expect(jainIndex([1, 1, 1])).toBe(1);
    expect(jainIndex([1, 0])).toBe(0.5);
    expect(percentile([1, 2, 3, 4], 0.5)).toBe(2);
    expect(percentile([1, 2, 3, 4], 0.99)).toBe(4);
    expect(percentile([], 0.5)).toBe(0);
  });
});
