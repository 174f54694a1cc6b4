/** The query of the Management API that an address of the page stands for: list and file come from it. Pure. */
import { type Period, periodBounds, periodFrom } from "../../time/periods.ts";
import type { AuditSearch } from "./audit-search.ts";

/** The filters besides the period. */
export const AUDIT_FILTERS = ["actor", "action", "entity_type", "entity_id"] as const;

/** The period of an address; by default 30 days. */
export function auditPeriod({ period }: AuditSearch): Period {
  return periodFrom(period ?? "") ?? { kind: "30d" };
}

/** The query; own days end with the last one, other periods with what comes. `nowMs`: to the hour, so that the list does not begin anew by itself. */
export function auditQuery(search: AuditSearch, zone: string, nowMs: number): Readonly<Record<string, string>> {
  const period = auditPeriod(search);
  const { fromMs, toMs } = periodBounds(period, zone, nowMs);
  const filters = AUDIT_FILTERS.flatMap((name) => {
    const value = search[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return {
    since_ms: String(Math.max(0, fromMs)),
    ...(period.kind === "custom" ? { until_ms: String(Math.max(0, toMs - 1)) } : {}),
    ...Object.fromEntries(filters),
  };
}
