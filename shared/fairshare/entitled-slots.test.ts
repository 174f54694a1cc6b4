import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Entitlement, effectiveWeight, entitledSlots } from "./entitled-slots.ts";

const groupsOf = (weights: readonly number[]) =>
  weights.map((weight, at) => ({ name: `g${at}`, weight, demand: 1, tenants: [] }));

it.each([
  [100, 50, 50],
  [149, 1, 1],
  [150, 1, 2],
  [1, 50, 1],
  [1, 1, 1],
  [300, 250, 750],
])("weighs a tenant of %i on a model of %i as %i", (weight, admissionWeight, expected) => {
  expect(effectiveWeight(weight, admissionWeight)).toBe(expected);
});

describe("slot caps of groups", () => {
  it.each([
    [8, [500, 50], [7, 1]],
    [8, [100, 100], [4, 4]],
    [10, [300, 100], [8, 2]],
    [4, [1000, 1], [3, 1]],
    [3, [100, 100, 100, 100], [1, 1, 1, 1]],
    [8, [100, 100, 100], [3, 3, 2]],
  ])("of %i slots by %j are %j", (maxInFlight, weights, caps) => {
    const { groups } = entitledSlots({
      algorithm: "hierarchical",
      maxInFlight,
      groups: groupsOf(weights),
      tenants: [],
    });
    expect(groups.map(({ entitlement }) => entitlement.slotCap)).toEqual(caps);
  });
});

/** All slots, and none twice; with more members than slots they take turns, each with a cap of at least 1. */
function expectSharedOut(slots: number, members: readonly { entitlement: Entitlement }[]): void {
  const caps = members.reduce((sum, { entitlement }) => sum + entitlement.slotCap, 0);
  if (members.length > slots) expect(caps).toBeGreaterThan(slots);
  else if (members.length > 0) expect(caps).toBe(slots);
}

describe("entitlements", () => {
  const competitor = { weight: fc.integer({ min: 1, max: 1_000_000 }), demand: fc.nat(2) };
  const competition = fc.record({
    algorithm: fc.constantFrom("weighted" as const, "hierarchical" as const),
    maxInFlight: fc.integer({ min: 1, max: 300 }),
    groups: fc.array(fc.record(competitor), { minLength: 1, maxLength: 6 }),
    tenants: fc.array(fc.record({ ...competitor, group: fc.nat(5) }), { maxLength: 12 }),
  });

  it("share out all slots among those with demand, each at least one where there are enough", () => {
    fc.assert(
      fc.property(competition, ({ algorithm, maxInFlight, groups: weights, tenants: given }) => {
        const tenants = given.map((tenant) => ({ ...tenant, group: `g${tenant.group % weights.length}` }));
        // A group has the demand of its tenants, as in a Cell.
        const groups = weights.map(({ weight }, at) => ({
          name: `g${at}`,
          weight,
          demand: tenants.reduce((sum, { group, demand }) => (group === `g${at}` ? sum + demand : sum), 0),
        }));
        const entitled = entitledSlots({ algorithm, maxInFlight, groups, tenants });
        expect(entitled.groups.map(({ who }) => who)).toEqual(groups);
        expect(entitled.tenants.map(({ who }) => who)).toEqual(tenants);
        for (const level of [entitled.groups, entitled.tenants]) {
          const active = level.filter(({ who }) => who.demand > 0);
          const parts = level.reduce((sum, { entitlement }) => sum + entitlement.weightShare, 0);
          expect(parts).toBeCloseTo(active.length > 0 ? 1 : 0, 9);
          for (const { who, entitlement } of level) {
            expect(entitlement.weightShare > 0).toBe(who.demand > 0);
            expect(entitlement.slotCap).toBeGreaterThanOrEqual(1);
            expect(entitlement.slotCap).toBeLessThanOrEqual(maxInFlight);
          }
        }
        if (algorithm === "weighted") return;
        const busy = entitled.groups.filter(({ who }) => who.demand > 0);
        expectSharedOut(maxInFlight, busy);
        for (const group of busy) {
          const own = entitled.tenants.filter(({ who }) => who.group === group.who.name && who.demand > 0);
          expectSharedOut(group.entitlement.slotCap, own);
        }
      }),
      { numRuns: 300 },
    );
  });

  it("give nothing to a tenant without an existing group", () => {
    const { tenants } = entitledSlots({
      algorithm: "hierarchical",
      maxInFlight: 8,
      groups: groupsOf([100]),
      tenants: [{ group: "elsewhere", weight: 100, demand: 1 }],
    });
    expect(tenants.map(({ entitlement }) => entitlement)).toEqual([{ weightShare: 0, expectedSlots: 0, slotCap: 1 }]);
  });
});
