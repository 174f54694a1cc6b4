/** What each tenant of a cell is entitled to at one moment, given the tenants that are active then. */
import type { SchedulerSnapshot } from "../../edge/domain/fairshare/types.ts";

/**
 * In weighted mode a share by weight; in hierarchical mode the group's slot cap, split by weight among its active tenants.
 * Groups of equal weight take turns at a slot that cannot be divided among them, so they are entitled to the same.
 */
export function entitlements(snapshot: SchedulerSnapshot): ReadonlyMap<string, number> {
  const groups = new Map(snapshot.groups.map((group) => [group.name, group]));
  const slotsOf = (weight: number): number => {
    const equals = snapshot.groups.filter((group) => group.weight === weight && group.inFlight + group.queued > 0);
    return equals.reduce((sum, group) => sum + group.slotCap, 0) / equals.length;
  };
  const active = snapshot.tenants.filter((tenant) => tenant.inFlight > 0 || tenant.queued > 0);
  return new Map(
    active.map((tenant) => {
      const group = groups.get(tenant.fairshareGroup);
      if (snapshot.algorithm === "weighted" || group === undefined) return [tenant.tenantId, tenant.weightShare];
      const withinGroup = group.weightShare > 0 ? tenant.weightShare / group.weightShare : 0;
      return [tenant.tenantId, (withinGroup * slotsOf(group.weight)) / snapshot.maxInFlight];
    }),
  );
}
