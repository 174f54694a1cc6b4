/**
 * Finds the newest request of a model that its upstream served successfully, in the ledger. Such a request makes a
 * probe of the model unnecessary (docs/rules/health.md#traffic-counts-as-a-check). Internal traffic and answers from
 * the cache prove nothing.
 */
import type { AnalyticsStore } from "./store.ts";

interface RecentSuccess {
  /** When the request was complete, epoch ms. */
  readonly atMs: number;
  readonly statusCode: number;
  readonly totalMs: number;
}

/** The newest such request that began and ended after `sinceMs`; null when there is none. Throws 503. */
export async function recentSuccess(
  store: AnalyticsStore,
  model: string,
  sinceMs: number,
): Promise<RecentSuccess | null> {
  const rows = await store.rows<RecentSuccess>(
    `SELECT toUnixTimestamp64Milli(u.ts) AS atMs, u.status_code AS statusCode, u.total_ms AS totalMs
     FROM ${store.db}.usage_raw AS u
     WHERE u.ts > fromUnixTimestamp64Milli({since:Int64}) AND toUnixTimestamp64Milli(u.ts) - u.total_ms > {since:Int64}
       AND u.model = {model:String} AND u.status_code BETWEEN 200 AND 299
       AND u.cache_status != 'hit' AND u.request_type NOT IN ('health_probe', 'benchmark')
     ORDER BY u.ts DESC LIMIT 1`,
    { since: sinceMs, model },
  );
  return rows[0] ?? null;
}
