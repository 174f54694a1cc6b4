/**
 * Weighted: among all tenants with an admissible head the smallest score is next; ties by arrival.
 */
import type { Policy, Positions } from "./policy.ts";
import { Pool } from "./pool.ts";
import type { Spell } from "./virtual-time.ts";

/** One competition of all tenants; groups do not count. */
export function weightedPolicy(spell: Spell, position: Positions, probe: () => void): Policy {
  const pool = new Pool(spell, probe);
  return {
    place: (tenant) => pool.place(tenant, position()),
    unplace: (tenant) => pool.unplace(tenant),
    placeGroup: () => undefined,
    start: (tenant, model) => pool.start(tenant, model, position()),
    comeBack: (tenant, request) => pool.comeBack(tenant, request, position()),
    charge: (tenant, _group, charge) => pool.lines.charge(tenant, charge, charge.weight),
    correct: (tenant, _group, charge, tokens) => pool.lines.correct(tenant, charge, charge.weight, tokens),
    reweigh: (tenant, weight) => pool.reweigh(tenant, weight, position()),
    reweighGroup: (group, weight) => {
      group.weight = weight;
    },
    next: () => pool.next(() => true),
    scores: (head) => ({ tenant: pool.scoreOf(head), group: null }),
    advance: (_tenant, line, scores) => pool.lines.advance(line, scores.tenant, (which) => pool.lowest(which)),
    detach: () => undefined,
    slotCaps: (maxInFlight) => () => maxInFlight,
    forgives: (tenant) => pool.lines.forgives(tenant),
    forget: (tenant) => pool.lines.forget(tenant),
  };
}
