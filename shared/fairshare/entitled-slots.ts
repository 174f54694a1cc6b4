/**
 * Which slots groups and tenants are entitled to by weight, demand and capacity (docs/rules/fairshare.md#slot-caps,
 * docs/rules/fairshare.md#live-view). The Cell shows these values of its scheduler, and the same arithmetic shows the effect of
 * other weights. It never considers earlier service: the scheduler decides which competitor below its cap is next.
 */
import { apportion } from "./apportion.ts";

/** `hierarchical`: slots by the weights of groups and of tenants in them; `weighted`: tokens by the weights of tenants. */
export type FairshareAlgorithm = "weighted" | "hierarchical";

/** A group or tenant that may compete. */
interface Competitor {
  /** More than 0. */
  readonly weight: number;
  /** Requests in flight and queued; a competitor without any has no share. */
  readonly demand: number;
}

/** A group that may compete. */
interface CompetingGroup extends Competitor {
  readonly name: string;
}

/** A tenant that may compete; its group is named by `group`. */
interface CompetingTenant extends Competitor {
  readonly group: string;
}

/** The entitlement of a competitor while all competitors with demand want more. */
export interface Entitlement {
  /** Its part of the whole, 0 to 1; of a tenant within its group, times the group's part. 0 without demand. */
  readonly weightShare: number;
  /** The same part of the capacity, as a fraction of slots. */
  readonly expectedSlots: number;
  /**
   * The whole slots that bind under contention; at least 1. In weighted mode slots are not divided: the capacity. Equals
   * take turns at slots that cannot be divided among them: those that come first here are shown with them.
   */
  readonly slotCap: number;
}

/** A competitor as it was given, with its entitlement. */
interface Entitled<T> {
  readonly who: T;
  readonly entitlement: Entitlement;
}

/** The competition for the slots of one cell. A tenant whose group is not among the groups has no share. */
interface SlotCompetition<G extends CompetingGroup, T extends CompetingTenant> {
  readonly algorithm: FairshareAlgorithm;
  readonly maxInFlight: number;
  readonly groups: readonly G[];
  readonly tenants: readonly T[];
}

/** The entitlements of all groups and tenants, in the given order. O(n log n). */
export function entitledSlots<G extends CompetingGroup, T extends CompetingTenant>(
  competition: SlotCompetition<G, T>,
): { readonly groups: readonly Entitled<G>[]; readonly tenants: readonly Entitled<T>[] } {
  const { algorithm, maxInFlight, groups, tenants } = competition;
  const groupShares = sharesByWeight(groups);
  const groupCaps = algorithm === "weighted" ? null : slotCaps(groups, maxInFlight);
  const groupOf = new Map(groups.map((group) => [group.name, group]));
  const members = new Map<string, T[]>();
  for (const tenant of tenants) {
    const known = members.get(tenant.group);
    if (known === undefined) members.set(tenant.group, [tenant]);
    else known.push(tenant);
  }
  const tenantShares = new Map<T, number>();
  const tenantCaps = new Map<T, number>();
  if (groupCaps === null) for (const [tenant, share] of sharesByWeight(tenants)) tenantShares.set(tenant, share);
  else
    for (const [name, own] of members) {
      const group = groupOf.get(name);
      if (group === undefined) continue;
      for (const [tenant, share] of sharesByWeight(own))
        tenantShares.set(tenant, share * (groupShares.get(group) ?? 0));
      for (const [tenant, cap] of slotCaps(own, groupCaps.get(group) ?? 1)) tenantCaps.set(tenant, cap);
    }
  const entitled = <C>(who: C, shares: ReadonlyMap<C, number>, caps: ReadonlyMap<C, number> | null): Entitled<C> => {
    const weightShare = shares.get(who) ?? 0;
    const slotCap = caps === null ? maxInFlight : (caps.get(who) ?? 1);
    return { who, entitlement: { weightShare, expectedSlots: weightShare * maxInFlight, slotCap } };
  };
  return {
    groups: groups.map((group) => entitled(group, groupShares, groupCaps)),
    tenants: tenants.map((tenant) => entitled(tenant, tenantShares, groupCaps === null ? null : tenantCaps)),
  };
}

/** w = max(1, round(weight x admission_weight / 100)) (docs/rules/fairshare.md#cost-and-weight). */
export function effectiveWeight(weight: number, admissionWeight: number): number {
  return Math.max(1, Math.round((weight * admissionWeight) / 100));
}

/** The parts of those that have demand, by weight. */
function sharesByWeight<C extends Competitor>(competitors: readonly C[]): ReadonlyMap<C, number> {
  const active = competitors.filter(({ demand }) => demand > 0);
  const total = active.reduce((sum, { weight }) => sum + weight, 0);
  return new Map(active.map((competitor) => [competitor, competitor.weight / total]));
}

/** The slot caps of those that have demand, at least 1 each; ties go to the one that was given first. */
function slotCaps<C extends Competitor>(competitors: readonly C[], slots: number): ReadonlyMap<C, number> {
  const active = competitors.filter(({ demand }) => demand > 0).sort((a, b) => b.weight - a.weight);
  const weights = active.map(({ weight }) => weight);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const shares = apportion(slots, weights, total);
  return new Map(active.map((competitor, at) => [competitor, Math.max(1, shares[at] ?? 0)]));
}
