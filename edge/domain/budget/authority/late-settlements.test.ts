/** Requests whose leases the ledger has settled, or that never drew what they are adopted with. */
import { describe, expect, it } from "vitest";
import { BudgetSimulation, limitsWith } from "../../../../test/harness/edge/budget/simulation.ts";
import type { SimulatedCell } from "../../../../test/harness/edge/budget/simulation-parts.ts";

const needOf = (tokens: number) => ({ bucketTokens: tokens, requests: 1, termTokens: tokens, nanoUsd: 0 });

function deliverAll(world: BudgetSimulation): void {
  while (world.calls.length > 0) world.deliver(world.nextCall());
}

/** No message of the Cell arrives for this long. */
function cutOff(world: BudgetSimulation, secs: number): void {
  for (let sec = 0; sec < secs; sec += 1) {
    for (const call of world.calls) world.fail(call);
    world.calls = [];
    world.advance(1_000);
  }
}

/** The ledger has no rows yet. */
function answerOfLedger(world: BudgetSimulation): void {
  expect(world.core.countersAwaitingLedger(world.coreMs).length).toBeGreaterThan(0);
  world.core.ledgerSettled();
  world.checkpoint();
}

describe("a lease that the ledger settled while its requests run", () => {
  it("is charged what its Cell reports of it later, once the ledger has it", () => {
    const world = new BudgetSimulation(1);
    const limits = limitsWith({ tenantTokens: 100_000 });
    const cell = world.cell(0);
    const ids = [0, 1, 2].map(() => world.reserve(cell, limits, needOf(1_000)));
    deliverAll(world);
    world.calm(30_000);
    world.checkpoint();
    cutOff(world, 16 * 60);
    answerOfLedger(world);
    for (const id of ids) world.settle(cell, id, { tokens: 1_000, nanoUsd: 0 });
    cutOff(world, 1);
    world.calm(2_000);
    const { reserved } = world.core.read("tenant", limits, world.coreMs);
    expect(reserved.termTokens).toBe(3_000);
    world.calm(31_000);
    expect(world.core.countersAwaitingLedger(world.coreMs)).toHaveLength(1);
  });

  it("is forgotten when the Cell says that it knows nothing of it", () => {
    const world = new BudgetSimulation(1);
    const limits = limitsWith({ tenantTokens: 100_000 });
    world.reserve(world.cell(0), limits, needOf(1_000));
    const asked = world.nextCall();
    world.process(asked);
    world.fail(asked);
    cutOff(world, 70);
    answerOfLedger(world);
    world.calm(30_000);
    world.checkpoint();
    const { lives } = JSON.parse(world.disk.rows.tenant ?? "") as { lives: { leases: { settled: boolean }[] }[] };
    expect(lives.flatMap(({ leases }) => leases.filter(({ settled }) => settled))).toEqual([]);
  });
});

it("requests that drew nothing give nothing back to buckets when a new life of their Cell adopts them", () => {
  const world = new BudgetSimulation(1);
  const limits = limitsWith({ tokensPerMinute: 6_000, requestsPerMinute: 60 });
  const cell: SimulatedCell = world.cell(0);
  for (let at = 0; at < 5; at += 1) {
    const id = world.reserve(cell, limits, needOf(1_000));
    deliverAll(world);
    world.settle(cell, id, { tokens: 1_000, nanoUsd: 0 });
  }
  world.calm(3_000);
  const requests = Array.from({ length: 10 }, (_, at) => ({ requestId: `u${at}`, limits, need: needOf(1_000) }));
  for (const request of requests) cell.budget.admitUnchecked(request, world.clockOf(cell));
  world.crashCell(cell, false);
  for (const request of requests) cell.budget.adopt(request, world.clockOf(cell));
  const levels = () => {
    const { tokens, requests: counted } = world.core.buckets(limits, world.coreMs).tenant;
    return { tokens: tokens.levelTokens, requests: counted.levelTokens };
  };
  const before = levels();
  const beganMs = world.coreMs;
  for (const { requestId } of requests) cell.budget.settle(requestId, { tokens: 500, nanoUsd: 0 }, world.clockOf(cell));
  world.calm(2_000);
  const minutes = (world.coreMs - beganMs) / 60_000;
  const after = levels();
  expect({
    isTokensMinted: after.tokens > before.tokens + 6_000 * minutes + 1,
    isRequestsMinted: after.requests > before.requests + 60 * minutes + 0.1,
  }).toEqual({ isTokensMinted: false, isRequestsMinted: false });
});
