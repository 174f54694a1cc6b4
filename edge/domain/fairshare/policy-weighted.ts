/**
 * Weighted: among all tenants with an admissible head the smallest score is next; ties by arrival. Headroom does not change
 * that order: who is next waits for another slot while it holds its share of slots by weight, and only equals pass it.
 */
import { largestShare, onlyHeadroomIsFree, type Slots } from "./headroom.ts";
import type { NextPosition, Policy } from "./policy.ts";
import type { TenantState } from "./state.ts";
import { TenantPool } from "./tenant-pool.ts";
import type { BusyPeriod } from "./virtual-time.ts";

const ANYBODY = (): boolean => true;

/** One competition of all tenants; groups do not count. */
export function weightedPolicy(busyPeriod: BusyPeriod, position: NextPosition, probe: () => void): Policy {
  const pool = new TenantPool(busyPeriod, probe);
  const isBelowShare = (tenant: TenantState, slots: Slots): boolean =>
    tenant.inFlight < largestShare(slots) && pool.active.isBelowCap(tenant, slots.maxInFlight);
  return {
    place: (tenant) => {
      pool.place(tenant, position());
      pool.updateActive(tenant);
    },
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
    next: (slots) => {
      if (!onlyHeadroomIsFree(slots)) return pool.next(ANYBODY);
      if (!pool.someBelowCap(slots.maxInFlight, largestShare(slots))) return undefined;
      const first = pool.next(ANYBODY);
      if (first === undefined || isBelowShare(first.tenant, slots)) return first;
      const head = pool.next((tenant) => isBelowShare(tenant, slots));
      return head !== undefined && pool.comparableScore(head) <= pool.comparableScore(first) ? head : undefined;
    },
    scores: (head) => ({ tenant: pool.scoreOf(head), group: null }),
    advance: (_tenant, bottleneck, scores) =>
      pool.scores.advance(bottleneck, scores.tenant, (which) => pool.lowest(which)),
    detach: () => undefined,
    shareLimits: (competing, slots) => {
      const free = slots.maxInFlight - slots.inFlight;
      if (free > slots.headroom) return () => null;
      const scores = new Map<TenantState, number>();
      let lowest = Number.POSITIVE_INFINITY;
      for (const claim of competing) {
        // A tenant competes with its earliest request.
        if (scores.has(claim.tenant)) continue;
        const score = pool.comparableScore(claim);
        scores.set(claim.tenant, score);
        lowest = Math.min(lowest, score);
      }
      return ({ tenant }) => {
        if (free > 0 && !isBelowShare(tenant, slots)) return "headroom";
        return (scores.get(tenant) ?? lowest) > lowest ? "tenant_share" : null;
      };
    },
    canForget: (tenant) => pool.scores.canForget(tenant),
    forget: (tenant) => pool.scores.forget(tenant),
  };
}
