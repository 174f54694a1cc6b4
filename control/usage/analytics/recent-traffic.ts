/**
 * What the requests of a model say about it (docs/rules/health.md#traffic-counts-as-a-check): the newest one, which makes a probe
 * unnecessary if it was served, and how many were served at all. Only requests that an upstream was asked for count; internal
 * traffic, answers from the cache and requests that the upstream rejected (4xx) prove nothing.
 */
import type { AnalyticsStore } from "./store.ts";

interface RecentSuccess {
  /** When the request was complete, epoch ms. */
  readonly atMs: number;
  readonly statusCode: number;
  readonly totalMs: number;
}

const SERVED_MODEL = "if(u.served_model = '', u.model, u.served_model)";

/** Requests, and how many of them the model served whole. */
export interface Outcomes {
  readonly requests: number;
  readonly served: number;
}

/** The rows that count: requests that began and ended after `since`. */
const counted = (db: string, ofModel = "(u.model = {model:String} OR u.served_model = {model:String})"): string =>
  `FROM ${db}.usage_raw AS u
   WHERE u.ts > fromUnixTimestamp64Milli({since:Int64}) AND toUnixTimestamp64Milli(u.ts) - u.total_ms > {since:Int64}
     AND ${ofModel} AND u.attempts > 0 AND (u.status_code BETWEEN 200 AND 299 OR u.status_code >= 500)
     AND u.cache_status != 'hit' AND u.request_type NOT IN ('health_probe', 'benchmark')`;

/**
 * The newest request, if it began and ended after `sinceMs`; null when there is none, or the newest one failed at its upstream. Throws
 * 503.
 */
export async function recentSuccess(
  store: AnalyticsStore,
  model: string,
  sinceMs: number,
): Promise<RecentSuccess | null> {
  const [newest] = await store.rows<RecentSuccess & { readonly errorCode: string; readonly servedModel: string }>(
    `SELECT toUnixTimestamp64Milli(u.ts) AS atMs, u.status_code AS statusCode, u.total_ms AS totalMs, u.error_code AS errorCode,
       ${SERVED_MODEL} AS servedModel
     ${counted(store.db)}
     ORDER BY u.ts DESC LIMIT 1`,
    { since: sinceMs, model },
  );
  const isGood = newest !== undefined && newest.statusCode < 300 && newest.errorCode === "";
  // one that another model served has failed at this one
  return isGood && newest.servedModel === model ? newest : null;
}

/** How many requests of the model began and ended after `sinceMs`, and how many of these it served whole. Throws 503. */
export async function recentOutcomes(store: AnalyticsStore, model: string, sinceMs: number): Promise<Outcomes> {
  const [sums] = await store.rows<{ readonly requests: number; readonly served: number }>(
    `SELECT count() AS requests, countIf(u.status_code < 300 AND u.error_code = '' AND ${SERVED_MODEL} = {model:String}) AS served
     ${counted(store.db)}`,
    { since: sinceMs, model },
  );
  return { requests: Number(sums?.requests ?? 0), served: Number(sums?.served ?? 0) };
}

/** The same of every model, by the name that requests gave. Throws 503, also after `withinMs`. */
export async function modelOutcomes(
  store: Pick<AnalyticsStore, "rows" | "db">,
  sinceMs: number,
  withinMs: number,
): Promise<ReadonlyMap<string, Outcomes>> {
  const rows = await store.rows<Outcomes & { readonly name: string }>(
    `SELECT u.model AS name, count() AS requests,
       countIf(u.status_code < 300 AND u.error_code = '' AND ${SERVED_MODEL} = u.model) AS served
     ${counted(store.db, "u.model != ''")}
     GROUP BY u.model`,
    { since: sinceMs },
    withinMs,
  );
  return new Map(
    rows.map(({ name, requests, served }) => [name, { requests: Number(requests), served: Number(served) }]),
  );
}
