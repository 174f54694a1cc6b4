/**
 * The cost of a request for a Cell that holds leases of many keys of one tenant. Accesses to pools are counted, never time.
 *
 * @module-tag check
 */
import { expect, it, vi } from "vitest";
import { BudgetSimulation, limitsWith } from "../../../../test/harness/edge/budget/simulation.ts";
import { LeasePool } from "./lease-pool.ts";
import { LeaseWaiters } from "./lease-waiters.ts";

/** How often pools are accessed from the admission of a request to its end. */
function looksPerRequest(pools: number): number {
  const world = new BudgetSimulation(1);
  const cell = world.cell(0);
  const { tenant, key } = limitsWith({ tokensPerMinute: 1e9, keyTokens: 1e6 });
  const need = { bucketTokens: 10, termTokens: 10, nanoUsd: 0, requests: 1 };
  const run = (id: string): void => {
    const request = world.reserve(cell, { tenant, key: { ...key, id } }, need);
    while (world.calls.length > 0) world.deliver(world.nextCall());
    cell.budget.nextWakeMs();
    expect(world.verdicts.get(request)?.kind).toBe("ok");
    world.settle(cell, request, { tokens: 10, nanoUsd: 0 });
    cell.budget.nextWakeMs();
  };
  for (let at = 0; at < pools; at += 1) run(`key-${at}`);
  const looks = [
    vi.spyOn(LeasePool.prototype, "endsAtMs", "get"),
    vi.spyOn(LeasePool.prototype, "idle", "get"),
    vi.spyOn(LeaseWaiters.prototype, "forget"),
  ];
  run(`key-${pools - 1}`);
  const count = looks.reduce((sum, look) => sum + look.mock.calls.length, 0);
  for (const look of looks) look.mockRestore();
  return count;
}

it("a request costs a Cell of 500 pools little more than one of 10", () => {
  const [few, many] = [looksPerRequest(10), looksPerRequest(500)];
  expect({ few, many, isBounded: many <= few + 40 }).toMatchObject({ isBounded: true });
});
