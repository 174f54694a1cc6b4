import { expect, it } from "vitest";
import { BudgetSimulation, limitsWith } from "../../../../test/harness/edge/budget/simulation.ts";

it("keeps what dead cells held of the keys for which the ledger did not answer", () => {
  const world = new BudgetSimulation(1);
  const limits = limitsWith({ tenantTokens: 100, keyTokens: 100 });
  world.reserve(world.cell(0), limits, { bucketTokens: 60, termTokens: 60, nanoUsd: 60 });
  world.deliver(world.nextCall());
  for (let second = 0; second < 60; second += 1) world.advance(1_000);
  expect(world.core.countersAwaitingLedger(world.coreMs)).toHaveLength(2);
  world.core.ledgerSettled([limits.key.id]);
  expect(world.core.countersAwaitingLedger(world.coreMs)).toHaveLength(2);
  world.core.ledgerSettled();
  expect(world.core.countersAwaitingLedger(world.coreMs)).toHaveLength(0);
});
