/**
 * Lease requests of several pools that arrive late, twice, or in another order than they were sent, also around restarts.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BudgetSimulation, limitsWith } from "../../../test/harness/edge/budget/simulation.ts";
import type { PendingCall } from "../../../test/harness/edge/budget/simulation-parts.ts";
import {
  applyStep,
  drainBudgets,
  REQUEST_STEPS,
  type SimulationOptions,
} from "../../../test/harness/edge/budget/simulation-steps.ts";
import { propertyRuns } from "../../../test/harness/property-runs.ts";

const ORDERLY: SimulationOptions = { overuse: false, scale: 1 };

const caps = fc.record({
  tokensPerMinute: fc.constantFrom(0, 300),
  tenantTokens: fc.constantFrom(0, 400, 20_000),
  keyTokens: fc.constantFrom(0, 300, 5_000),
});
const small = fc.nat({ max: 1_000 });

/** Limits of two keys with budgets of their own, and of one without. */
function poolsWith(given: typeof caps extends fc.Arbitrary<infer T> ? T : never) {
  const capped = limitsWith(given);
  const plain = limitsWith({ ...given, keyTokens: null });
  return [
    capped,
    { ...capped, key: { ...capped.key, id: "key-2" } },
    { ...plain, key: { ...plain.key, id: "key-3" } },
  ] as const;
}

function sequenceOf<T extends string>(...kinds: readonly (readonly [weight: number, what: T])[]) {
  const steps = kinds.map(([weight, what]) => ({
    weight,
    arbitrary: fc.record({ do: fc.constant(what), a: small, b: small, pool: fc.nat(2) }),
  }));
  return fc.array(fc.oneof(...steps), { maxLength: 120, size: "max" });
}

describe("lease requests of several pools", () => {
  it("are decided, though others overtake them, answers are lost and the authority starts again", () => {
    const calls = REQUEST_STEPS.filter(([, what]) => what !== "lose" && what !== "giveUp");
    fc.assert(
      fc.property(caps, fc.integer({ min: 1, max: 3 }), sequenceOf(...calls), (given, count, sequence) => {
        const world = new BudgetSimulation(count);
        const pools = poolsWith(given);
        for (const each of sequence) applyStep(world, pools[each.pool] ?? pools[0], each, ORDERLY);
        drainBudgets(world);
        const kinds = [...world.verdicts.values()].map(({ kind }) => kind);
        expect(kinds.filter((kind) => kind !== "ok" && kind !== "refused")).toEqual([]);
      }),
      { numRuns: propertyRuns(400) },
    );
  });

  it("change nothing when they arrive again after they were answered or given up", () => {
    const calls = REQUEST_STEPS.filter(([, what]) => what !== "crashAuthority");
    const steps = sequenceOf(...calls, [8, "again"], [1, "restart"]);
    fc.assert(
      fc.property(caps, fc.integer({ min: 1, max: 3 }), steps, (given, count, sequence) => {
        const world = new BudgetSimulation(count);
        const pools = poolsWith(given);
        const facts = () => pools.map((limits) => world.facts(limits));
        const past = new Set<PendingCall>();
        const heard: PendingCall[] = [];
        const again = (call: PendingCall | undefined) => {
          if (call === undefined) return;
          const before = facts();
          world.process(call);
          expect(facts()).toEqual(before);
        };
        const restart = () => {
          world.checkpoint();
          world.crashAuthority();
        };
        for (const each of sequence) {
          const call = world.calls[each.b % Math.max(1, world.calls.length)];
          const waits = call?.open === true;
          if (each.do === "again") again(heard[each.b % Math.max(1, heard.length)]);
          else if (each.do === "restart") restart();
          else applyStep(world, pools[each.pool] ?? pools[0], { ...each, do: each.do }, ORDERLY);
          if (each.do === "deliver" && call !== undefined && waits) heard.push(call);
          for (const sent of world.calls) past.add(sent);
        }
        drainBudgets(world);
        for (const call of past) again(call);
        restart();
        for (const call of past) again(call);
      }),
      { numRuns: propertyRuns(400) },
    );
  });
});
