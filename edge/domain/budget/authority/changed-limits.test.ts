import { describe, expect, it } from "vitest";
import { BudgetSimulation, limitsWith } from "../../../../test/harness/edge/budget/simulation.ts";

describe("limits that have changed", () => {
  const capped = (tenantTokens: number, rev: number) => limitsWith({ tenantTokens, rev });

  /** Stores the state that the object would store before it is unloaded, and restarts it. */
  function unload(world: BudgetSimulation): void {
    if (world.core.dirty) world.checkpoint();
    world.crashAuthority();
  }

  it("arm alerts again by a raised cap, also when the object is unloaded before the next change", () => {
    const world = new BudgetSimulation(1);
    world.charge(world.cell(0), capped(100, 1), { tokens: 90, nanoUsd: 0 });
    world.calm(20_000);
    unload(world);
    world.core.limitsChanged(capped(200, 2), world.coreMs);
    unload(world);
    world.core.limitsChanged(capped(100, 3), world.coreMs);
    const alerts = world.core.undelivered;
    expect(alerts.map(({ id }) => id)).toEqual(["term_budget_warn:tenant-1@l:0#2"]);
  });

  it("stay in force over an unload, whatever older limits a later message brings", () => {
    const world = new BudgetSimulation(1);
    world.charge(world.cell(0), capped(1_000, 1), { tokens: 5, nanoUsd: 0 });
    world.calm(20_000);
    unload(world);
    world.core.limitsChanged(capped(120, 9), world.coreMs);
    unload(world);
    expect(world.core.read("tenant", capped(1_000, 1), world.coreMs).limits.tenant.term.tokens).toBe(120);
  });

  it("are refused with a form that could not be read back from the disk", () => {
    const world = new BudgetSimulation(1);
    const weekly = limitsWith({ tenantTokens: 100, rev: 2 });
    const unknown = { ...weekly, tenant: { ...weekly.tenant, term: { ...weekly.tenant.term, period: "weekly" } } };
    world.core.limitsChanged(capped(1_000, 1), world.coreMs);
    world.core.limitsChanged(unknown as typeof weekly, world.coreMs);
    const alerts = world.core.undelivered;
    world.checkpoint();
    expect({ issues: alerts.map(({ issueKey }) => issueKey), damaged: world.disk.load().damaged }).toEqual({
      issues: ["budget_amount_refused"],
      damaged: 0,
    });
  });
});
