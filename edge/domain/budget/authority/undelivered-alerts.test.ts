import { expect, it } from "vitest";
import { BudgetSimulation, limitsWith } from "../../../../test/harness/edge/budget/simulation.ts";

it("an alert is raised once, and kept over a restart until it is delivered", () => {
  const world = new BudgetSimulation(1);
  const limits = limitsWith({ tenantTokens: 100 });
  const ids = () => world.core.undelivered.map(({ id }) => id);
  const warn = ["term_budget_warn:tenant-1@l:0"];
  world.core.applyLedgerSum("tenant", limits, "l:0", { tokens: 85, nanoUsd: 0 }, world.coreMs);
  world.core.applyLedgerSum("tenant", limits, "l:0", { tokens: 86, nanoUsd: 0 }, world.coreMs);
  world.checkpoint();
  world.crashAuthority();
  expect(ids()).toEqual(warn);
  world.core.delivered(world.core.undelivered);
  expect({ left: ids(), isStored: !world.core.dirty }).toEqual({ left: [], isStored: false });
});
