/**
 * Weighted: among all tenants with an admissible head the smallest score is next; ties by arrival.
 */
import type { NextPosition, Policy } from "./policy.ts";
import type { TenantState } from "./state.ts";
import { TenantPool } from "./tenant-pool.ts";
import type { BusyPeriod } from "./virtual-time.ts";

/** One competition of all tenants; groups do not count. */
export function weightedPolicy(busyPeriod: BusyPeriod, position: NextPosition, probe: () => void): Policy {
  const pool = new TenantPool(busyPeriod, probe);
  return {
    place: (tenant) => pool.place(tenant, position()),
    unplace: (tenant) => pool.unplace(tenant),
    placeGroup: () => undefined,
    start: (tenant, model) => pool.start(tenant, model, position()),
    resume: (tenant, request) => pool.resume(tenant, request, position()),
    charge: (tenant, _group, charge) => pool.scores.charge(tenant, charge, charge.weight),
    correct: (tenant, _group, charge, tokens) => pool.scores.correct(tenant, charge, charge.weight, tokens),
    reweigh: (tenant, weight) => pool.reweigh(tenant, weight, position()),
    reweighGroup: (group, weight) => {
      group.weight = weight;
    },
    next: () => pool.next(() => true),
    scores: (head) => ({ tenant: pool.scoreOf(head), group: null }),
    advance: (_tenant, bottleneck, scores) =>
      pool.scores.advance(bottleneck, scores.tenant, (which) => pool.lowest(which)),
    detach: () => undefined,
    shareLimits: (competing) => {
      const scores = new Map<TenantState, number>();
      let lowest = Number.POSITIVE_INFINITY;
      for (const claim of competing) {
        // A tenant competes with its earliest request.
        if (scores.has(claim.tenant)) continue;
        const score = pool.comparableScore(claim);
        scores.set(claim.tenant, score);
        lowest = Math.min(lowest, score);
      }
      return ({ tenant }) => ((scores.get(tenant) ?? lowest) > lowest ? "tenant_share" : null);
    },
    canForget: (tenant) => pool.scores.canForget(tenant),
    forget: (tenant) => pool.scores.forget(tenant),
  };
}
