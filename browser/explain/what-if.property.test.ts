/** With unchanged weights the what-if says what the live view says; with others, what the scheduler would. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { entitledSlots } from "../../shared/fairshare/entitled-slots.ts";
import type { FairshareLive } from "../../shared/schema/load.ts";
import { whatIf } from "./what-if.ts";

const NO_EDITS = { groupWeights: new Map<string, number>(), tenantWeights: new Map<string, number>() };
const load = { in_flight: fc.nat(6), queued: fc.nat(6) };
/** Few different weights, so that many are equal. */
const weight = fc.oneof(fc.constantFrom(1, 100, 300), fc.integer({ min: 1, max: 1_000_000 }));

/** A live view as the Cell makes it: its registry knows groups in another order than the view lists them. */
const live = fc
  .record({
    algorithm: fc.constantFrom("weighted" as const, "hierarchical" as const),
    max_in_flight: fc.integer({ min: 1, max: 40 }),
    weights: fc.array(weight, { minLength: 1, maxLength: 6 }),
    tenants: fc.array(fc.record({ weight, group: fc.nat(5), ...load }), { maxLength: 12 }),
    order: fc.array(fc.nat(100), { minLength: 6, maxLength: 6 }),
  })
  .map(({ algorithm, max_in_flight, weights, tenants, order }): FairshareLive => {
    const names = weights.map((_, at) => `group ${at}`);
    const members = tenants.map((tenant, at) => ({
      ...tenant,
      tenant_id: `id ${at}`,
      name: `tenant ${String(at).padStart(2, "0")}`,
      fairshare_group: names[tenant.group % names.length] ?? "",
    }));
    const sumOf = (group: string, field: "in_flight" | "queued"): number =>
      members.filter(({ fairshare_group }) => fairshare_group === group).reduce((sum, one) => sum + one[field], 0);
    const known = names
      .map((name, at) => ({
        name,
        weight: weights[at] ?? 1,
        in_flight: sumOf(name, "in_flight"),
        queued: sumOf(name, "queued"),
        at,
      }))
      .sort((a, b) => (order[a.at] ?? 0) - (order[b.at] ?? 0));
    const entitled = entitledSlots({
      algorithm,
      maxInFlight: max_in_flight,
      groups: known.map((group) => ({ ...group, demand: group.in_flight + group.queued })),
      tenants: members.map((one) => ({ ...one, group: one.fairshare_group, demand: one.in_flight + one.queued })),
    });
    const shares = { served_tokens: 0, share_score: 0 };
    return {
      cell: "local",
      ts_ms: 0,
      algorithm,
      max_in_flight,
      headroom: 0,
      global_in_flight: 0,
      global_queued: 0,
      batch_in_flight: 0,
      batch_queued: 0,
      groups: entitled.groups
        .map(({ who: { name, weight, in_flight, queued }, entitlement: { slotCap, weightShare, expectedSlots } }) => ({
          name,
          weight,
          in_flight,
          queued,
          slot_cap: slotCap,
          weight_share: weightShare,
          expected_slots: expectedSlots,
          ...shares,
        }))
        .sort((a, b) => (a.name < b.name ? -1 : 1)),
      tenants: entitled.tenants.map(({ who, entitlement: { weightShare, expectedSlots } }) => ({
        tenant_id: who.tenant_id,
        name: who.name,
        fairshare_group: who.fairshare_group,
        weight: who.weight,
        in_flight: who.in_flight,
        queued: who.queued,
        max_in_flight: null,
        weight_share: weightShare,
        expected_slots: expectedSlots,
        ...shares,
      })),
      model_in_flight: {},
      model_queued: {},
      waiting: [],
      waiting_cells: [],
    };
  });

describe("whatIf", () => {
  it("matches the live view when no weight is changed, including ties that take turns", () => {
    fc.assert(
      fc.property(live, (view) => {
        const answer = whatIf(view, view.groups, NO_EDITS);
        if (answer.kind !== "answer") throw new Error(answer.kind);
        expect(answer.groups.map(({ name, before, after }) => [name, before, after])).toEqual(
          view.groups.map(({ name, slot_cap, weight_share, expected_slots }) => {
            const shown = { slotCap: slot_cap, weightShare: weight_share, expectedSlots: expected_slots };
            return [name, shown, shown];
          }),
        );
        expect(answer.tenants.map(({ tenantId, before, after }) => [tenantId, before.expectedSlots, after])).toEqual(
          view.tenants.map(({ tenant_id, expected_slots, weight_share }) => [
            tenant_id,
            expected_slots,
            expect.objectContaining({ expectedSlots: expected_slots, weightShare: weight_share }),
          ]),
        );
      }),
    );
  });

  it("divides among those who want slots what the capacity has, whatever the edits", () => {
    fc.assert(
      fc.property(
        live,
        fc.dictionary(fc.constantFrom("group 0", "group 1", "other"), weight),
        fc.option(fc.integer({ min: 1, max: 50 })),
        (view, weights, capacity) => {
          const groupWeights = new Map(Object.entries(weights));
          const answer = whatIf(view, [], { ...NO_EDITS, groupWeights, maxInFlight: capacity ?? undefined });
          if (answer.kind !== "answer") throw new Error(answer.kind);
          const wanted = answer.groups.filter(({ inFlight, queued }) => inFlight + queued > 0);
          const sum = wanted.reduce((total, { after }) => total + after.expectedSlots, 0);
          if (wanted.length > 0) expect(sum).toBeCloseTo(capacity ?? view.max_in_flight, 6);
          for (const { weight: own, weightAfter, name } of answer.groups)
            expect(weightAfter).toBe(groupWeights.get(name) ?? own);
        },
      ),
    );
  });

  it("gives a heavier group no fewer slots than before", () => {
    fc.assert(
      fc.property(live, (view) => {
        const [first] = view.groups;
        if (first === undefined) return;
        const answer = whatIf(view, [], { ...NO_EDITS, groupWeights: new Map([[first.name, 1_000_000]]) });
        if (answer.kind !== "answer") throw new Error(answer.kind);
        const [compared] = answer.groups;
        expect(compared?.after.expectedSlots).toBeGreaterThanOrEqual((compared?.before.expectedSlots ?? 0) - 1e-9);
      }),
    );
  });

  it.each([0, -1, 1.5, Number.NaN, 1e308, 1_000_001])("does not take %s for a weight or a capacity", (value) => {
    const view = fc.sample(live, 1)[0] as FairshareLive;
    expect(whatIf(view, [], { ...NO_EDITS, groupWeights: new Map([["g", value]]) })).toEqual({
      kind: "invalid",
      field: "group",
      id: "g",
    });
    expect(whatIf(view, [], { ...NO_EDITS, tenantWeights: new Map([["t", value]]) })).toMatchObject({
      field: "tenant",
    });
    expect(whatIf(view, [], { ...NO_EDITS, maxInFlight: value })).toMatchObject({ field: "capacity" });
  });

  it("lists groups that nobody uses now, with no share", () => {
    const view = { ...(fc.sample(live, 1)[0] as FairshareLive), groups: [], tenants: [] };
    expect(whatIf(view, [{ name: "idle", weight: 7 }], NO_EDITS)).toMatchObject({
      groups: [{ name: "idle", weight: 7, before: { weightShare: 0, expectedSlots: 0 } }],
    });
  });
});
