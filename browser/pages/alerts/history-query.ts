/** The query of the Management API that an address of the history stands for: list and file come from it. Pure. */
import { type Period, periodBounds, periodFrom } from "../../time/periods.ts";
import type { AlertsSearch } from "./alerts-search.ts";

/** The filters without the period. */
export const HISTORY_FILTERS = ["severity", "state", "kind", "q"] as const;

/** The period of an address; by default 7 days. */
export function historyPeriod({ period }: AlertsSearch): Period {
  return periodFrom(period ?? "") ?? { kind: "7d" };
}

/** Own days end with the last one, other periods with what comes. `nowMs`: to the hour, so that the list stays the same. */
export function historyQuery(search: AlertsSearch, zone: string, nowMs: number): Readonly<Record<string, string>> {
  const period = historyPeriod(search);
  const { fromMs, toMs } = periodBounds(period, zone, nowMs);
  const filters = HISTORY_FILTERS.flatMap((name) => {
    const value = search[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return {
    since_ms: String(Math.max(0, fromMs)),
    ...(period.kind === "custom" ? { until_ms: String(Math.max(0, toMs)) } : {}),
    ...Object.fromEntries(filters),
  };
}
