/**
 * Weighted: among all tenants with an admissible head the smallest served / w is next; ties by arrival.
 */
import type { Policy } from "./policy.ts";
import { Pool } from "./pool.ts";
import type { Spell } from "./virtual-time.ts";

/** One competition of all tenants; groups do not count. */
export function weightedPolicy(spell: Spell, probe: () => void): Policy {
  const pool = new Pool(spell, probe);
  return {
    place: (tenant) => pool.place(tenant),
    unplace: (tenant) => pool.unplace(tenant),
    placeGroup: () => undefined,
    lift: (tenant, admissionWeight) => pool.lift(tenant, admissionWeight),
    reweigh: (tenant, weight) => pool.reweigh(tenant, weight),
    reweighGroup: (group, weight) => {
      group.weight = weight;
    },
    next: () => pool.next(() => true),
    advance: (_tenant, tenantScore) => pool.advance(tenantScore),
    detach: () => undefined,
    slotCaps: (maxInFlight) => () => maxInFlight,
    forgives: (tenant) => pool.forgives(tenant),
  };
}
