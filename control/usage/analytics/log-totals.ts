/**
 * Sums of the requests that a log lists (docs/rules/usage-reads.md#logs): a list over a month shows them above its first page,
 * and asks again while it is open, so they must not cost a read of every request. By tenant and key the rollup has them; other
 * filters are only of single requests.
 */
import type { UsageLogFilter, UsageLogTotals } from "../../../shared/schema/usage.ts";
import { OF_REQUESTS, totalsOf } from "./figures.ts";
import type { AnalyticsStore } from "./store.ts";
import { logFilter } from "./usage-logs.ts";
import { usageSource } from "./usage-source.ts";
import { windowOf } from "./usage-window.ts";

/** The parts of a filter that the rollup has, and the period. */
const ROLLED_UP: ReadonlySet<string> = new Set(["since_ms", "until_ms", "tenant_id", "key_id", "include_internal"]);

const NO_TOTALS: UsageLogTotals = {
  requests: 0,
  errors: 0,
  refused_requests: 0,
  failed_requests: 0,
  left_requests: 0,
  input_tokens: 0,
  output_tokens: 0,
  total_tokens: 0,
  cost_usd: 0,
};

/** Sums of all rows that the filter selects. Throws 503. */
export async function readLogTotals(
  store: AnalyticsStore,
  query: UsageLogFilter,
  nowMs: number,
): Promise<UsageLogTotals> {
  const { from, figures, params } = await listed(store, query, nowMs);
  const [totals] = await store.rows<UsageLogTotals>(
    `SELECT ${totalsOf(figures)}, ${figures.errors} AS errors, ${figures.notServed} FROM ${from}`,
    params,
  );
  return totals ?? NO_TOTALS;
}

async function listed(store: AnalyticsStore, query: UsageLogFilter, nowMs: number) {
  const isRolledUp = Object.entries(query).every(([name, value]) => value === undefined || ROLLED_UP.has(name));
  if (isRolledUp) return await usageSource(store, query, { detail: "listed", unknownCallers: true }, nowMs);
  const { where, params } = logFilter(store.db, query);
  const since = "r.ts >= fromUnixTimestamp64Milli({from:Int64})";
  return {
    from: `(SELECT r.* FROM ${store.db}.usage_raw AS r WHERE ${[since, ...where].join(" AND ")}) AS u`,
    figures: OF_REQUESTS,
    params: { ...params, from: windowOf(query, nowMs).fromMs },
  };
}
