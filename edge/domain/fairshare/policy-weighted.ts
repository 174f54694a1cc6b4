/**
 * Weighted: among all tenants with an admissible head the smallest served / w is next; ties by arrival.
 */
import type { Policy } from "./policy.ts";
import { Pool } from "./pool.ts";

/** One competition of all tenants; groups do not count. */
export function weightedPolicy(probe?: () => void): Policy {
  const pool = new Pool(probe);
  return {
    place: (head) => pool.place(head),
    unplace: (head) => pool.remove(head),
    refresh: () => undefined,
    refreshGroup: () => undefined,
    lift: (tenant, admissionWeight) => pool.lift(tenant, admissionWeight),
    next: () => pool.next(() => true),
    advance: (_tenant, tenantScore) => pool.advance(tenantScore),
    detach: () => undefined,
    slotCap: (_group, maxInFlight) => maxInFlight,
    reset: () => pool.reset(),
  };
}
