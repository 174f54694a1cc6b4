/**
 * Clocks that are set, by example (docs/rules/budgets.md#lives-of-a-cell): those of a cell, of the budget object, and of the
 * next life of either. The laws for any clocks are in tenant-budget.property.test.ts.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BudgetSimulation, type Caps, limitsWith } from "../../../test/harness/edge/budget/simulation.ts";
import type { SimulatedCell } from "../../../test/harness/edge/budget/simulation-parts.ts";
import { MonotonicClock } from "./monotonic-clock.ts";
import type { ReservationVerdict } from "./spender/verdict.ts";

const YEAR_MS = 365 * 86_400_000;
const need = (tokens: number) => ({ bucketTokens: tokens, termTokens: tokens, nanoUsd: 0 });

function deliverAll(world: BudgetSimulation): void {
  while (world.calls.length > 0) world.deliver(world.nextCall());
}

function tryRequest(
  world: BudgetSimulation,
  caps: Caps,
  tokens: number,
  cell: SimulatedCell = world.cell(0),
): ReservationVerdict | undefined {
  const id = world.reserve(cell, limitsWith(caps), need(tokens));
  deliverAll(world);
  return world.verdicts.get(id);
}

describe("steady time", () => {
  it("is what the clock showed first and all that it has moved ahead since", () => {
    const clock = fc.integer({ min: -1e12, max: 1e12 });
    fc.assert(
      fc.property(clock, fc.array(clock, { maxLength: 100 }), (first, readings) => {
        const time = new MonotonicClock();
        let last = time.at(first);
        expect(last).toBe(first);
        let shown = first;
        for (const reading of readings) {
          const next = time.at(reading);
          expect(next - last).toBe(Math.max(0, reading - shown));
          expect(time.clockAt(next)).toBe(reading);
          [last, shown] = [next, reading];
        }
      }),
    );
  });
});

describe("a clock that is set back", () => {
  it.each([1_000, YEAR_MS])("by %d ms starves no bucket: it refills from there", (backMs) => {
    const world = new BudgetSimulation(1);
    const caps = { tokensPerMinute: 600 };
    expect(tryRequest(world, caps, 600)?.kind).toBe("ok");
    world.skewMs -= backMs;
    world.cell(0).skewMs -= backMs;
    expect(tryRequest(world, caps, 300)?.kind).toBe("refused");
    world.calm(31_000);
    expect(tryRequest(world, caps, 300)?.kind).toBe("ok");
  });

  it.each([
    ["was taken for dead before", 20_000],
    ["has a lease that is still open", 100],
  ])("between two lives of the object starves no bucket, and forgets no cell that %s", (_name, silentMs) => {
    const world = new BudgetSimulation(2);
    const caps = { tokensPerMinute: 600, tenantTokens: 1_000 };
    expect(tryRequest(world, caps, 600)?.kind).toBe("ok");
    world.crashCell(world.cell(0), false);
    world.advance(silentMs);
    world.checkpoint();
    world.skewMs -= YEAR_MS;
    world.crashAuthority();
    world.calm(31_000);
    expect(tryRequest(world, caps, 300, world.cell(1))?.kind).toBe("ok");
    world.calm(30_000);
    const awaited = world.core.countersAwaitingLedger(world.coreMs).map(({ whose }) => whose);
    expect(awaited).toContain("tenant");
  });

  it("extends no lease, no refusal and no wait for an answer", () => {
    const world = new BudgetSimulation(1);
    const caps = { tokensPerMinute: 60_000 };
    const cell = world.cell(0);
    expect(tryRequest(world, caps, 60_000)?.kind).toBe("ok");
    expect(tryRequest(world, caps, 100)?.kind).toBe("refused");
    cell.skewMs -= YEAR_MS;
    world.calm(500);
    expect(tryRequest(world, caps, 100)?.kind).toBe("ok");
    world.reserve(cell, limitsWith(caps), need(30_000));
    world.fail(world.nextCall());
    cell.skewMs -= YEAR_MS;
    world.calm(30_000);
    expect(tryRequest(world, caps, 100)?.kind).toBe("ok");
    cell.skewMs -= YEAR_MS;
    world.calm(25_000);
    const { reserved } = world.core.read("tenant", limitsWith(caps), world.coreMs);
    expect(reserved.bucketTokens).toBe(200 + 60_000);
  });

  it("holds no settlement up, and calls its cell in time", () => {
    const world = new BudgetSimulation(1);
    const cell = world.cell(0);
    const id = world.reserve(cell, limitsWith({}), need(5));
    world.settle(cell, id, { tokens: 5, nanoUsd: 0 });
    cell.skewMs -= YEAR_MS;
    world.run(cell, cell.budget.tick(world.clockOf(cell)));
    expect(cell.budget.nextWakeMs()).toBe(world.clockOf(cell) + 10_000);
    world.calm(11_000);
    expect(world.core.read("tenant", limitsWith({}), world.coreMs).account.usedTokens).toBe(5);
  });

  it("does not put the object's month back for less than clocks differ, and does for more", () => {
    const world = new BudgetSimulation(1);
    const { tenant, key } = limitsWith({ tenantTokens: 1_000 });
    const limits = { tenant: { ...tenant, term: { ...tenant.term, period: "monthly" as const } }, key };
    world.nowMs = 30 * 86_400_000;
    const read = () => world.core.read("tenant", limits, world.coreMs).account;
    const settle = (tokens: number) => {
      const id = world.reserve(world.cell(0), limits, need(tokens));
      deliverAll(world);
      world.settle(world.cell(0), id, { tokens, nanoUsd: 0 });
      world.calm(11_000);
    };
    settle(5);
    expect(read()).toMatchObject({ tag: "m:5001", usedTokens: 5 });
    world.skewMs -= 10 * 60_000;
    world.cell(0).skewMs -= 10 * 60_000;
    settle(7);
    expect(read()).toMatchObject({ tag: "m:5001", usedTokens: 12 });
    world.skewMs -= 2 * 3_600_000;
    world.cell(0).skewMs -= 2 * 3_600_000;
    settle(9);
    expect(read()).toMatchObject({ tag: "m:5000", usedTokens: 9 });
  });
});

describe("a clock that is set ahead", () => {
  it("fills a bucket once, and starves it by nothing when it is put right", () => {
    const world = new BudgetSimulation(1);
    const caps = { tokensPerMinute: 600 };
    expect(tryRequest(world, caps, 600)?.kind).toBe("ok");
    world.skewMs += YEAR_MS;
    expect(tryRequest(world, caps, 600)?.kind).toBe("ok");
    world.skewMs -= YEAR_MS;
    world.calm(500);
    expect(tryRequest(world, caps, 300)?.kind).toBe("refused");
    world.calm(30_000);
    expect(tryRequest(world, caps, 300)?.kind).toBe("ok");
  });

  it("leaves the month that it made up when it is put right", () => {
    const world = new BudgetSimulation(1);
    const { tenant, key } = limitsWith({ tenantTokens: 1_000 });
    const limits = { tenant: { ...tenant, term: { ...tenant.term, period: "monthly" as const } }, key };
    const tag = () => world.core.read("tenant", limits, world.coreMs).account.tag;
    expect(tag()).toBe("m:5000");
    world.skewMs += YEAR_MS;
    expect(tag()).toBe("m:5012");
    world.skewMs -= YEAR_MS;
    expect(tag()).toBe("m:5000");
  });

  it("of another machine than the cell's says nothing about the level that the cell knows", () => {
    const world = new BudgetSimulation(1);
    const caps = { tokensPerMinute: 600 };
    world.cell(0).skewMs += YEAR_MS;
    tryRequest(world, caps, 400);
    const level = world.cell(0).budget.level(limitsWith(caps), world.clockOf(world.cell(0)));
    expect(level).toMatchObject({ remainingTokens: 200 });
  });
});
