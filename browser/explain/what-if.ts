/**
 * What other weights or another capacity would give, from the live view, by the arithmetic of the scheduler itself
 * (docs/rules/fairshare.md#slot-caps). It answers for those who want slots now, as if all of them wanted more. Pure.
 */
import { type Entitlement, entitledSlots } from "../../shared/fairshare/entitled-slots.ts";
import type { FairshareGroup } from "../../shared/schema/fairshare.ts";
import type { FairshareLive } from "../../shared/schema/load.ts";

/** What a reader has changed; what is not named stays as it is. */
export interface WeightEdits {
  /** By the name of the group. */
  readonly groupWeights: ReadonlyMap<string, number>;
  /** By the id of the tenant. */
  readonly tenantWeights: ReadonlyMap<string, number>;
  readonly maxInFlight?: number | undefined;
}

/** What a group or tenant is entitled to, with the present weights and with those of the reader. */
interface Compared {
  readonly name: string;
  readonly inFlight: number;
  readonly queued: number;
  readonly weight: number;
  readonly weightAfter: number;
  readonly before: Entitlement;
  readonly after: Entitlement;
}

/** The answer, or what was changed to something that is no weight or capacity. */
export type WhatIf =
  | {
      readonly kind: "answer";
      /** By name: those of the live view, then groups that nobody uses now. */
      readonly groups: readonly Compared[];
      readonly tenants: readonly (Compared & { readonly tenantId: string; readonly group: string })[];
    }
  | { readonly kind: "invalid"; readonly field: "group" | "tenant" | "capacity"; readonly id: string };

/** Weights and capacities are whole numbers from 1 to this (docs/rules/fairshare.md#groups). */
const WEIGHT_MAX = 1_000_000;

/** The entitlements before and after. With no edits both are what the live view says. */
export function whatIf(
  live: FairshareLive,
  groups: readonly Pick<FairshareGroup, "name" | "weight">[],
  edits: WeightEdits,
): WhatIf {
  const invalid = invalidEdit(edits);
  if (invalid !== null) return invalid;
  const shown = [
    ...live.groups,
    ...groups.filter(({ name }) => !live.groups.some((group) => group.name === name)).map(idle),
  ];
  const capacity = edits.maxInFlight ?? live.max_in_flight;
  const none: WeightEdits = { groupWeights: new Map(), tenantWeights: new Map() };
  const before = competition(live, shown, none, live.max_in_flight);
  const after = competition(live, shown, edits, capacity);
  return {
    kind: "answer",
    groups: shown.map((group, at) => ({
      name: group.name,
      inFlight: group.in_flight,
      queued: group.queued,
      weight: group.weight,
      weightAfter: edits.groupWeights.get(group.name) ?? group.weight,
      before: entitlementAt(before.groups, at),
      after: entitlementAt(after.groups, at),
    })),
    tenants: live.tenants.map((tenant, at) => ({
      tenantId: tenant.tenant_id,
      group: tenant.fairshare_group,
      name: tenant.name,
      inFlight: tenant.in_flight,
      queued: tenant.queued,
      weight: tenant.weight,
      weightAfter: edits.tenantWeights.get(tenant.tenant_id) ?? tenant.weight,
      before: entitlementAt(before.tenants, at),
      after: entitlementAt(after.tenants, at),
    })),
  };
}

type LiveGroup = FairshareLive["groups"][number];

/** A group that nobody uses: it wants no slots, and so has no share. */
function idle({ name, weight }: Pick<FairshareGroup, "name" | "weight">): LiveGroup {
  const nothing = { in_flight: 0, queued: 0, slot_cap: 0, served_tokens: 0, share_score: 0, weight_share: 0 };
  return { name, weight, ...nothing, expected_slots: 0 };
}

function invalidEdit({ groupWeights, tenantWeights, maxInFlight }: WeightEdits): WhatIf | null {
  const isOne = (value: number): boolean => Number.isInteger(value) && value >= 1 && value <= WEIGHT_MAX;
  for (const [id, weight] of groupWeights) if (!isOne(weight)) return { kind: "invalid", field: "group", id };
  for (const [id, weight] of tenantWeights) if (!isOne(weight)) return { kind: "invalid", field: "tenant", id };
  if (maxInFlight !== undefined && !isOne(maxInFlight)) return { kind: "invalid", field: "capacity", id: "" };
  return null;
}

function competition(
  live: FairshareLive,
  groups: readonly LiveGroup[],
  { groupWeights, tenantWeights }: WeightEdits,
  maxInFlight: number,
): { readonly groups: readonly Entitlement[]; readonly tenants: readonly Entitlement[] } {
  const entitled = entitledSlots({
    algorithm: live.algorithm,
    maxInFlight,
    groups: groups.map(({ name, weight, in_flight, queued, slot_cap }) => ({
      name,
      weight: groupWeights.get(name) ?? weight,
      demand: in_flight + queued,
      shownCap: slot_cap,
    })),
    tenants: live.tenants.map(({ tenant_id, fairshare_group, weight, in_flight, queued }) => ({
      group: fairshare_group,
      weight: tenantWeights.get(tenant_id) ?? weight,
      demand: in_flight + queued,
    })),
  });
  return {
    groups: inShownOrder(entitled.groups),
    tenants: entitled.tenants.map(({ entitlement }) => entitlement),
  };
}

/**
 * Groups of equal weight take turns at slots that cannot be divided among them. The live view shows the slot with one of them;
 * here it is shown with the same one, so that what did not change does not seem to.
 */
function inShownOrder(
  groups: readonly {
    readonly who: { readonly weight: number; readonly demand: number; readonly shownCap: number };
    readonly entitlement: Entitlement;
  }[],
): readonly Entitlement[] {
  const entitlements = groups.map(({ entitlement }) => entitlement);
  const equals = Map.groupBy(
    [...groups.keys()].filter((at) => (groups[at]?.who.demand ?? 0) > 0),
    (at) => groups[at]?.who.weight ?? 0,
  );
  const capOf = (at: number): number => groups[at]?.entitlement.slotCap ?? 0;
  const shownCapOf = (at: number): number => groups[at]?.who.shownCap ?? 0;
  for (const members of equals.values()) {
    const caps = members.map(capOf).sort((a, b) => b - a);
    const inOrder = [...members].sort((a, b) => shownCapOf(b) - shownCapOf(a) || a - b);
    for (const [place, at] of inOrder.entries()) {
      const entitlement = entitlements[at];
      if (entitlement !== undefined) entitlements[at] = { ...entitlement, slotCap: caps[place] ?? entitlement.slotCap };
    }
  }
  return entitlements;
}

function entitlementAt(entitlements: readonly Entitlement[], at: number): Entitlement {
  return entitlements[at] ?? { weightShare: 0, expectedSlots: 0, slotCap: 0 };
}
