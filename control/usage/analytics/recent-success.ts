/**
 * Finds the newest request of a model that an upstream was asked for, in the ledger, if it was served successfully. Such a request
 * makes a probe of the model unnecessary (docs/rules/health.md#traffic-counts-as-a-check). Internal traffic and answers from
 * the cache prove nothing.
 */
import type { AnalyticsStore } from "./store.ts";

interface RecentSuccess {
  /** When the request was complete, epoch ms. */
  readonly atMs: number;
  readonly statusCode: number;
  readonly totalMs: number;
}

/**
 * That request, if it began and ended after `sinceMs`; null when there is none, or the newest one failed at its upstream. Throws
 * 503.
 */
export async function recentSuccess(
  store: AnalyticsStore,
  model: string,
  sinceMs: number,
): Promise<RecentSuccess | null> {
  const [newest] = await store.rows<RecentSuccess & { readonly errorCode: string; readonly servedModel: string }>(
    `SELECT toUnixTimestamp64Milli(u.ts) AS atMs, u.status_code AS statusCode, u.total_ms AS totalMs, u.error_code AS errorCode,
       if(u.served_model = '', u.model, u.served_model) AS servedModel
     FROM ${store.db}.usage_raw AS u
     WHERE u.ts > fromUnixTimestamp64Milli({since:Int64}) AND toUnixTimestamp64Milli(u.ts) - u.total_ms > {since:Int64}
       AND (u.model = {model:String} OR u.served_model = {model:String}) AND u.attempts > 0 AND (u.status_code BETWEEN 200 AND 299 OR u.status_code >= 500)
       AND u.cache_status != 'hit' AND u.request_type NOT IN ('health_probe', 'benchmark')
     ORDER BY u.ts DESC LIMIT 1`,
    { since: sinceMs, model },
  );
  const isGood = newest !== undefined && newest.statusCode < 300 && newest.errorCode === "";
  // one that another model served has failed at this one
  return isGood && newest.servedModel === model ? newest : null;
}
