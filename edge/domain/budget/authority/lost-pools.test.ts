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

it("stores no reason of a refusal that the first release cannot read", () => {
  const stored = (caps: Parameters<typeof limitsWith>[0]): unknown[] => {
    const world = new BudgetSimulation(1);
    for (const _ of [1, 2]) {
      world.reserve(world.cell(0), limitsWith(caps), { bucketTokens: 10, termTokens: 10, nanoUsd: 0, requests: 1 });
      world.deliver(world.nextCall());
    }
    world.checkpoint();
    return (world.disk.load().state.tenant?.lives ?? []).flatMap(({ awaited }) => awaited.map(([, reason]) => reason));
  };
  expect({ requests: stored({ requestsPerMinute: 1 }), tokens: stored({ tokensPerMinute: 10 }) }).toEqual({
    requests: [null],
    tokens: ["rate"],
  });
});
