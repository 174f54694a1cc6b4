/**
 * Where a read takes its rows from whose period is named by instants or by days of a zone
 * (docs/rules/usage-reads.md#days-of-a-zone). Days come from the rollup by quarters of an hour, which does not separate
 * internal traffic: when that is included, they are read like a period of instants.
 */
import { daysBetween } from "../../shared/zone-days.ts";
import { dayPeriod, namesDays } from "./day-period.ts";
import { keptDays, quarterRows } from "./quarter-rows.ts";
import type { AnalyticsStore, QueryParams } from "./store.ts";
import type { UsageScope } from "./usage-filter.ts";
import { usageSums } from "./usage-sums.ts";

type PeriodQuery = UsageScope & Parameters<typeof dayPeriod>[0];

/** Quarters (`from` is for FROM), or a scope of instants. */
type PeriodSource =
  | { readonly kind: "quarters"; readonly from: string; readonly params: QueryParams }
  | { readonly kind: "instants"; readonly scope: UsageScope };

/** The source of a query's period; null: it has no day that is kept. Throws 503. */
export async function byDays(store: AnalyticsStore, query: PeriodQuery, nowMs: number): Promise<PeriodSource | null> {
  if (!namesDays(query)) return { kind: "instants", scope: query };
  const { zone, first, last } = dayPeriod(query, nowMs);
  const kept = keptDays(first, last, nowMs);
  if (kept === null) return null;
  const { days, endMs } = daysBetween(zone, ...kept);
  const fromMs = days[0]?.startMs ?? endMs;
  if (query.include_internal === true)
    return { kind: "instants", scope: { ...query, since_ms: fromMs, until_ms: endMs - 1 } };
  const { tenant_id, key_id, model } = query;
  const key_ids = key_id === undefined ? undefined : [key_id];
  const scope = { fromMs, beforeMs: endMs, tenant_id, key_ids, model, unknownCallers: false };
  return { kind: "quarters", ...(await quarterRows(store, scope)) };
}

/** Sums of a query's period: rows for FROM, to be summed by tenant, key and model. Null: there are none. Throws 503. */
export async function periodSums(
  store: AnalyticsStore,
  query: PeriodQuery,
  nowMs: number,
): Promise<{ readonly from: string; readonly params: QueryParams } | null> {
  const source = await byDays(store, query, nowMs);
  return source?.kind === "instants" ? usageSums(store.db, source.scope, nowMs) : source;
}
