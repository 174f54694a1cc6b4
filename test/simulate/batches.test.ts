/**
 * Batches over minutes (docs/rules/batches.md#slots): lines use what is idle, and requests wait with a full queue of lines less than
 * one request longer than without it.
 */
import { describe, expect, it } from "vitest";
import { runScenario, type ShareRun } from "./run.ts";
import type { TenantPlan } from "./scenarios.ts";
import { printedSeed } from "./seed.ts";

const seed = printedSeed("batches.test.ts");
const SLOTS = 16;
const SERVICE_MS: [number, number] = [400, 800];

function planOf(id: string, plan: Partial<TenantPlan> & Pick<TenantPlan, "source">): TenantPlan {
  const plain = { set: id, group: "g", groupWeight: 100, weight: 100, startMs: 0 };
  return { id, ...plain, serviceMs: SERVICE_MS, tokens: [200, 2000], ...plan };
}

const p95 = (waits: readonly number[]): number => waits.toSorted((a, b) => a - b)[Math.floor(waits.length * 0.95)] ?? 0;
const heldBy = ({ windows }: ShareRun, id: string): number =>
  windows.reduce((sum, { held }) => sum + (held.get(id) ?? 0), 0) / (windows.length * 1000);

describe.each(["weighted", "hierarchical"] as const)("a full queue of lines (%s)", (algorithm) => {
  // three quarters of the slots in the mean
  const people = ["one", "two", "three"].map((id) => planOf(id, { source: { kind: "stream", perSecond: 6.6 } }));
  const lines = planOf("lines", { batch: true, source: { kind: "backlog", depth: 64 } });
  const runOf = (tenants: readonly TenantPlan[]): ShareRun =>
    runScenario({ name: "", title: "", joinMs: 0, endMs: 300_000, algorithm, slots: SLOTS, tenants }, seed);

  it("fills what is idle, and delays the 95th percentile of requests by less than one request", () => {
    const [without, withLines] = [runOf(people), runOf([...people, lines])];
    const waitsOf = (run: ShareRun): readonly number[] => people.flatMap(({ id }) => run.waits.get(id) ?? []);
    const longer = p95(waitsOf(withLines)) - p95(waitsOf(without));
    const used = (run: ShareRun): number => [...people, lines].reduce((sum, { id }) => sum + heldBy(run, id), 0);
    console.log(
      `${algorithm}: p95 wait ${p95(waitsOf(without))} ms, with lines ${p95(waitsOf(withLines))} ms; slots in use ${used(without).toFixed(1)}, with lines ${used(withLines).toFixed(1)}`,
    );
    expect(longer).toBeLessThan(SERVICE_MS[1]);
    expect(used(without)).toBeLessThan(0.85 * SLOTS);
    expect(used(withLines)).toBeGreaterThan(0.95 * SLOTS);
  });
});
