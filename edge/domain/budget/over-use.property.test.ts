/**
 * Requests that use more than was estimated, by any factor, in several Cells, of several keys, with messages that are late,
 * lost, repeated and overtaken (docs/rules/budgets.md#use-above-the-estimate).
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CapBound } from "../../../test/harness/edge/budget/cap-bound.ts";
import { BudgetSimulation, limitsWith } from "../../../test/harness/edge/budget/simulation.ts";
import { applyStep } from "../../../test/harness/edge/budget/simulation-steps.ts";
import { propertyRuns } from "../../../test/harness/property-runs.ts";

const STEPS = [
  [10, "reserve"],
  [2, "expect"],
  [2, "slot"],
  [1, "withdraw"],
  [10, "settle"],
  [14, "deliver"],
  [2, "repeat"],
  [2, "lose"],
  [2, "giveUp"],
  [4, "wait"],
  [2, "checkpoint"],
  [1, "charge"],
] as const;

/** How many times its need a request uses. */
const FACTORS = [0, 1 / 2, 1, 1, 2, 7, 300, 1_000_000] as const;

const small = fc.nat({ max: 1_000 });
const steps = fc.array(
  fc.oneof(
    ...STEPS.map(([weight, what]) => ({
      weight,
      arbitrary: fc.record({
        do: fc.constant(what),
        a: small,
        b: small,
        pool: fc.nat(2),
        factor: fc.constantFrom(...FACTORS),
      }),
    })),
  ),
  { maxLength: 200, size: "max" },
);

/** Limits of two keys with budgets of their own, and of one without. */
function poolsWith(given: Parameters<typeof limitsWith>[0]) {
  const capped = limitsWith(given);
  const plain = limitsWith({ ...given, keyTokens: null, keyNanoUsd: null, keyTokensPerMinute: 0 });
  return [
    capped,
    { ...capped, key: { ...capped.key, id: "key-2" } },
    { ...plain, key: { ...plain.key, id: "key-3" } },
  ] as const;
}

function boundHolds(
  given: Parameters<typeof limitsWith>[0],
  cells: number,
  sequence: typeof steps extends fc.Arbitrary<infer T> ? T : never,
): void {
  const world = new BudgetSimulation(cells);
  const bound = new CapBound();
  world.watch = bound;
  const pools = poolsWith(given);
  const capTokens = given.tokensPerMinute ?? given.keyTokensPerMinute ?? 0;
  for (const { do: what, a, b, pool, factor } of sequence) {
    const cell = world.cell(a);
    if (what === "settle") {
      const live = [...cell.live.values()];
      const ends = live[b % Math.max(1, live.length)];
      if (ends === undefined) continue;
      const tokens = Math.ceil(ends.need.termTokens * factor);
      // Debt stops at the bucket's capacity: beyond it the bucket forgives.
      const owes = bound.usedTokens + tokens - (world.refilledMs * capTokens) / 60_000;
      const used = capTokens > 0 && owes > 1.9 * capTokens ? Math.min(tokens, ends.need.bucketTokens) : tokens;
      world.settle(cell, ends.id, { tokens: used, nanoUsd: used * 3 });
    } else applyStep(world, pools[pool] ?? pools[0], { do: what, a, b }, { overuse: true, scale: 1 });
    expect(bound.passed(world, pools)).toEqual([]);
  }
}

const cells = fc.integer({ min: 1, max: 4 });

describe("what requests use above their need", () => {
  it("passes budgets only by requests that ran when the cap was reached", () => {
    const caps = fc.record({
      tenantTokens: fc.constantFrom(null, 400, 2_000, 20_000, 1_000_000),
      tenantNanoUsd: fc.constantFrom(null, 3_000, 200_000),
      keyTokens: fc.constantFrom(null, 300, 5_000),
      keyNanoUsd: fc.constantFrom(null, 1_500, 20_000),
    });
    fc.assert(fc.property(caps, cells, steps, boundHolds), { numRuns: propertyRuns(3_000) });
  });

  it("passes the per-minute bucket only by requests that ran when it was empty", () => {
    const caps = fc.record({ tokensPerMinute: fc.constantFrom(300, 2_000, 20_000) });
    fc.assert(fc.property(caps, cells, steps, boundHolds), { numRuns: propertyRuns(2_000) });
  });

  it("passes a key's bucket only by requests that ran when it was empty", () => {
    const caps = fc.record({ keyTokensPerMinute: fc.constantFrom(300, 2_000, 20_000) });
    fc.assert(fc.property(caps, cells, steps, boundHolds), { numRuns: propertyRuns(2_000) });
  });
});
