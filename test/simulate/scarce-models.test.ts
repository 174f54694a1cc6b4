/**
 * Models that are scarce although the cell has slots (docs/rules/fairshare.md#served-score): a tenant that waits for
 * such a model is served in turn with the others that wait for it, and no tenant carries credit from one model to
 * another.
 *
 * @module-tag check
 */
import { describe, expect, it } from "vitest";
import { runScenario, type ShareRun } from "./run.ts";
import type { Scenario, TenantPlan } from "./scenarios.ts";
import { printedSeed } from "./seed.ts";

const ALGORITHMS = ["weighted", "hierarchical"] as const;
const seed = printedSeed("scarce-models.test.ts");

function planOf(id: string, plan: Partial<TenantPlan> & Pick<TenantPlan, "source" | "models">): TenantPlan {
  const plain = { set: id, group: "g", groupWeight: 100, weight: 100, startMs: 0 };
  return { id, ...plain, serviceMs: [200, 600], tokens: [200, 2000], ...plan };
}

function runOf(
  algorithm: Scenario["algorithm"],
  slots: number,
  models: Record<string, number>,
  endMs: number,
  tenants: readonly TenantPlan[],
): ShareRun {
  return runScenario({ name: "", title: "", joinMs: 0, algorithm, slots, models, endMs, tenants }, seed);
}

/** The tokens that a plan was served from one time to another. */
function served({ windows }: ShareRun, id: string, fromMs: number, toMs: number): number {
  const span = windows.filter((window) => window.endMs > fromMs && window.endMs <= toMs);
  return span.reduce((sum, { tokens }) => sum + (tokens.get(id) ?? 0), 0);
}

const backlog = (depth: number) => ({ kind: "backlog", depth }) as const;

describe.each(ALGORITHMS)("a full model (%s)", (algorithm) => {
  it("serves a newcomer in turn with tenants that have waited longer", () => {
    const run = runOf(algorithm, 64, { scarce: 2 }, 900_000, [
      planOf("since-long", { models: ["scarce"], source: backlog(20) }),
      planOf("elsewhere", { models: ["plenty"], source: backlog(10) }),
      planOf("newcomer", { models: ["scarce"], source: backlog(20), startMs: 600_000 }),
    ]);
    const [old, late] = ["since-long", "newcomer"].map((id) => served(run, id, 610_000, 900_000));
    expect(late).toBeGreaterThan(0.9 * (old ?? 0));
    expect(late).toBeLessThan(1.1 * (old ?? 0));
  });

  it("serves in turn a tenant that also uses another model, which no other tenant could use", () => {
    const run = runOf(algorithm, 64, { scarce: 2 }, 300_000, [
      planOf("only", { models: ["scarce"], source: backlog(20) }),
      planOf("both-scarce", { tenant: "both", models: ["scarce"], source: backlog(20) }),
      planOf("both-plenty", { tenant: "both", models: ["plenty"], source: backlog(20) }),
    ]);
    const [only, both] = ["only", "both-scarce"].map((id) => served(run, id, 10_000, 300_000));
    expect(both).toBeGreaterThan(0.9 * (only ?? 0));
  });

  it("gives no credit for another model", () => {
    const park = { tenant: "parker", models: ["scarce"], source: backlog(3), serviceMs: [60_000, 60_000] } as const;
    const run = runOf(algorithm, 8, { scarce: 1 }, 240_000, [
      planOf("rival", { models: ["plenty"], source: backlog(20), group: "rivals" }),
      planOf("parked", { ...park, group: "parkers" }),
      planOf("flood", {
        tenant: "parker",
        models: ["plenty"],
        source: backlog(20),
        startMs: 120_000,
        group: "parkers",
      }),
    ]);
    const [rival, flood] = ["rival", "flood"].map((id) => served(run, id, 122_000, 150_000));
    expect(flood).toBeLessThan(1.25 * (rival ?? 0));
    expect(run.windows.filter(({ endMs, tokens }) => endMs > 122_000 && (tokens.get("rival") ?? 0) === 0)).toEqual([]);
  });
});

describe("tenants that use several models", () => {
  it("have one share of a full cell, however many models they use (weighted)", () => {
    const names = Array.from({ length: 6 }, (_, at) => `m${at}`);
    const run = runOf("weighted", 8, Object.fromEntries(names.map((name) => [name, 3])), 300_000, [
      planOf("one", { models: ["other"], source: backlog(20) }),
      planOf("many", { models: names, source: backlog(10) }),
    ]);
    const [one, many] = ["one", "many"].map((id) => served(run, id, 10_000, 300_000));
    expect(Math.abs((many ?? 0) / ((one ?? 0) + (many ?? 0)) - 0.5)).toBeLessThan(0.03);
  });

  it("keep a scarce model busy when they are entitled to more of it (weighted)", () => {
    const run = runOf("weighted", 8, { scarce: 2 }, 300_000, [
      planOf("scarce", { models: ["scarce"], source: backlog(20) }),
      planOf("plenty", { models: ["plenty"], source: backlog(20) }),
    ]);
    const held = run.windows.slice(5).reduce((sum, window) => sum + (window.held.get("scarce") ?? 0), 0);
    expect(held / (2 * 1000 * (run.windows.length - 5))).toBeGreaterThan(0.99);
  });
});

describe("a tenant at its own cap", () => {
  it("lags by one request when its cap is raised, then takes only its share (weighted)", () => {
    const run = runOf("weighted", 8, {}, 240_000, [
      planOf("rival", { models: ["m"], source: backlog(20) }),
      planOf("slow", {
        tenant: "capped",
        models: ["m"],
        source: backlog(20),
        maxInFlight: 6,
        serviceMs: [60_000, 60_000],
      }),
      planOf("fast", { tenant: "capped", models: ["m"], source: backlog(20), maxInFlight: 6, startMs: 1000 }),
    ]);
    const [rival, capped] = ["rival", "fast"].map((id) => served(run, id, 130_000, 240_000));
    expect(capped).toBeLessThan(1.25 * (rival ?? 0));
  });
});
