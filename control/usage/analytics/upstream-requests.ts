/** How many requests of a model were sent upstream, for the rate of its failures (docs/rules/alerts.md#failures-of-upstreams). */
import type { AnalyticsStore } from "./store.ts";

/** Those that ended from `fromMs` until `untilMs`, without the gateway's own. Throws 503. */
export async function upstreamRequests(
  store: AnalyticsStore,
  model: string,
  fromMs: number,
  untilMs: number,
): Promise<number> {
  const [row] = await store.rows<{ readonly requests: number }>(
    `SELECT count() AS requests FROM ${store.db}.usage_raw AS u
     WHERE u.ts >= fromUnixTimestamp64Milli({from:Int64}) AND u.ts < fromUnixTimestamp64Milli({until:Int64})
       AND (u.model = {model:String} OR u.served_model = {model:String}) AND u.attempts > 0 AND u.request_type NOT IN ('health_probe', 'benchmark')`,
    { from: fromMs, until: untilMs, model },
  );
  return row?.requests ?? 0;
}
