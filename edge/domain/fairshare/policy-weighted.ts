/**
 * Weighted: among all tenants with an admissible head the smallest served / w is next; ties by arrival.
 */
import type { Policy, Positions } from "./policy.ts";
import { Pool } from "./pool.ts";
import type { Spell } from "./virtual-time.ts";

/** One competition of all tenants; groups do not count, and are only shown what they were served. */
export function weightedPolicy(spell: Spell, position: Positions, probe: () => void): Policy {
  const pool = new Pool(spell, probe);
  return {
    place: (tenant) => pool.place(tenant, position()),
    unplace: (tenant) => pool.unplace(tenant),
    placeGroup: () => undefined,
    start: (tenant, model) => pool.start(tenant, model, position()),
    comeBack: (tenant, requestTokens) => pool.comeBack(tenant, requestTokens, position()),
    charge: (tenant, group, charge) => {
      pool.lines.charge(tenant, charge);
      group.served.charge(charge.tokens);
    },
    correct: (tenant, group, charge, tokens) => {
      pool.correct(tenant, charge, tokens);
      group.served.correct(tokens, charge.at);
    },
    reweigh: (tenant, change) => pool.reweigh(tenant, change, position()),
    reweighGroup: (group, weight) => {
      group.weight = weight;
    },
    next: () => pool.next(() => true),
    scores: (head) => ({ tenant: pool.scoreOf(head), group: null }),
    advance: (_tenant, line, scores) => pool.lines.advance(line, scores.tenant, (which) => pool.lowest(which)),
    detach: () => undefined,
    slotCaps: (maxInFlight) => () => maxInFlight,
    forgives: (tenant) => pool.forgives(tenant),
    forget: (tenant) => pool.lines.forget(tenant),
  };
}
