/**
 * Recent activity of each key (docs/rules/usage-reads.md#key-summary). The day of a key's last request is looked up in
 * the rollup, which has every day of every key, so that the request itself is searched on that day only.
 */
import type { KeySummariesQuery, KeySummary } from "../../../shared/schema/usage-reads.ts";
import { NIL_UUID } from "../../../shared/usage/usage-row.ts";
import { ENERGY, idText } from "./expressions.ts";
import { totalsOf } from "./figures.ts";
import type { AnalyticsStore } from "./store.ts";
import { usageSource } from "./usage-source.ts";
import { dayOf } from "./usage-window.ts";

const NOTHING = {
  requests: 0,
  input_tokens: 0,
  output_tokens: 0,
  total_tokens: 0,
  cost_usd: 0,
  energy_wh: 0,
  energy_cost_usd: 0,
  co2_g: 0,
};
const NOTHING_LAST = { last_used_ms: 0, last_model: "", last_status_code: 0 };

/**
 * Keys with activity in the window, busiest first; only requests in the window count. A key whose requests were dropped by
 * retention keeps its sums and has no last request. Throws 503.
 */
export async function readKeySummaries(
  store: AnalyticsStore,
  query: KeySummariesQuery,
  nowMs: number,
): Promise<readonly KeySummary[]> {
  const { from, figures, params, window } = await usageSource(store, query, { detail: "sums" }, nowMs);
  const last = lastRequests(store.db, query);
  return await store.rows<KeySummary>(
    `SELECT s.key_id AS key_id, s.tenant_id AS tenant_id, l.last_used_ms AS last_used_ms, l.last.1 AS last_model,
       l.last.2 AS last_status_code, s.requests AS requests, s.input_tokens AS input_tokens,
       s.output_tokens AS output_tokens, s.total_tokens AS total_tokens, s.cost_usd AS cost_usd,
       s.energy_wh AS energy_wh, s.energy_cost_usd AS energy_cost_usd, s.co2_g AS co2_g
     FROM (
       SELECT ${idText("key_id")}, ${idText("tenant_id")}, ${totalsOf(figures)}, ${ENERGY} FROM ${from}
       WHERE u.key_id != toUUID('${NIL_UUID}')
       GROUP BY u.key_id, u.tenant_id ORDER BY total_tokens DESC, key_id LIMIT {limit:UInt32}
     ) AS s
     LEFT JOIN (${last}) AS l ON l.id = s.key_id
     ORDER BY total_tokens DESC, key_id`,
    { ...params, since: window.fromMs, since_day: dayOf(window.fromMs), limit: query.limit },
  );
}

/** One key: its sums since `sinceMs`, and its last request in the whole ledger. Throws 503. */
export async function readKeySummary(
  store: AnalyticsStore,
  key: { readonly id: string; readonly tenant_id: string },
  query: { readonly since_ms?: number | undefined; readonly include_internal: boolean },
  nowMs: number,
): Promise<KeySummary> {
  const of = { key_id: key.id, include_internal: query.include_internal };
  const scope = { ...of, since_ms: query.since_ms };
  const { from, figures, params } = await usageSource(store, scope, { detail: "sums" }, nowMs);
  const [[sums], [last]] = await Promise.all([
    store.rows<Omit<KeySummary, "last_used_ms">>(`SELECT ${totalsOf(figures)}, ${ENERGY} FROM ${from}`, params),
    store.rows<typeof NOTHING_LAST>(
      `SELECT l.last_used_ms AS last_used_ms, l.last.1 AS last_model, l.last.2 AS last_status_code
       FROM (${lastRequests(store.db, of)}) AS l`,
      { key: key.id, since: 0, since_day: dayOf(0) },
    ),
  ]);
  return { ...NOTHING, ...NOTHING_LAST, ...sums, ...last, key_id: key.id, tenant_id: key.tenant_id };
}

/**
 * The last request of each key since `{since:Int64}`, whose day is `{since_day:Date}`: id, last_used_ms, and last: (model,
 * status code). Internal traffic is not in the rollup, so that every row is read when it is included.
 */
function lastRequests(
  db: string,
  of: {
    readonly tenant_id?: string | undefined;
    readonly key_id?: string | undefined;
    readonly include_internal: boolean;
  },
): string {
  const whose: string[] = [];
  if (of.tenant_id !== undefined) whose.push("tenant_id = {tenant:UUID}");
  if (of.key_id !== undefined) whose.push("key_id = {key:UUID}");
  const days = ["day >= {since_day:Date}", ...whose].join(" AND ");
  const lastDays = `SELECT max(day), key_id FROM ${db}.usage_daily WHERE ${days} GROUP BY key_id`;
  const rows = [
    "u.ts >= fromUnixTimestamp64Milli({since:Int64})",
    `u.tenant_id != toUUID('${NIL_UUID}')`,
    ...whose.map((condition) => `u.${condition}`),
    ...(of.include_internal
      ? []
      : ["u.request_type NOT IN ('health_probe', 'benchmark')", `(toDate(u.ts), u.key_id) IN (${lastDays})`]),
  ];
  return `SELECT toString(u.key_id) AS id, toUnixTimestamp64Milli(max(u.ts)) AS last_used_ms,
      argMax((u.model, u.status_code), (u.ts, u.request_id)) AS last
    FROM ${db}.usage_raw AS u WHERE ${rows.join(" AND ")} GROUP BY u.key_id`;
}
