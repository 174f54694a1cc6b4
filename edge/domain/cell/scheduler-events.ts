/**
 * What changed records mean for waiting requests, without a new arrival (docs/rules/admission.md#checked-again): new
 * weights, groups and caps. revisions.ts decides which changes are still the newest. New budget limits come with the
 * records by which a waiting request is checked again at its turn.
 */
import type { Change } from "../../../shared/wire/internal.ts";
import type { SchedulerEvent } from "../fairshare/types.ts";

/** The events of changes that carry values, in their order. */
export function schedulerEvents(changes: readonly Change[]): readonly SchedulerEvent[] {
  return changes.flatMap(({ id, tenant, group, model }): readonly SchedulerEvent[] => {
    if (tenant !== undefined) {
      const { weight, max_in_flight, group: at } = tenant;
      return [{ type: "tenant", id, weight, maxInFlight: max_in_flight, group: at }];
    }
    if (group !== undefined) return [{ type: "group", name: id, weight: group.weight }];
    if (model === undefined) return [];
    const { max_in_flight: maxInFlight, admission_weight: admissionWeight, adaptive } = model;
    return [{ type: "model", name: id, maxInFlight, admissionWeight, adaptive }];
  });
}
