/**
 * What changed records mean to who waits, without a new arrival (decisions §20.4): new weights, groups and caps to the
 * scheduler, new limits to the budgets. Which changes are still the newest is not decided here (revisions.ts).
 */
import type { Change } from "../../../shared/internal.ts";
import { type BudgetLimits, keyLimits, tenantLimits } from "../budget/limits.ts";
import type { SchedulerEvent } from "../fairshare/types.ts";

/** The limits that changes of tenants and keys bring, in their order. */
export function budgetNews(changes: readonly Change[]): readonly Partial<BudgetLimits>[] {
  return changes.flatMap(({ tenant, key }): readonly Partial<BudgetLimits>[] => {
    if (tenant !== undefined) return [{ tenant: tenantLimits(tenant.limits) }];
    return key === undefined ? [] : [{ key: keyLimits(key) }];
  });
}

/** The events of changes that carry values, in their order. */
export function schedulerEvents(changes: readonly Change[]): readonly SchedulerEvent[] {
  return changes.flatMap(({ id, tenant, group, model }): readonly SchedulerEvent[] => {
    if (tenant !== undefined) {
      const { weight, max_in_flight, group: at } = tenant;
      return [{ type: "tenant", id, weight, maxInFlight: max_in_flight, group: at }];
    }
    if (group !== undefined) return [{ type: "group", name: id, weight: group.weight }];
    if (model === undefined) return [];
    const { max_in_flight, admission_weight } = model;
    return [{ type: "model", name: id, maxInFlight: max_in_flight, admissionWeight: admission_weight }];
  });
}
