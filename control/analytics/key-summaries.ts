/**
 * What each key has done lately (specification "Per-key usage summary").
 */
import type { KeySummariesQuery, KeySummary } from "../../shared/schema/usage-reads.ts";
import { NIL_UUID } from "../../shared/usage-row.ts";
import { ENERGY, idText, TOTALS } from "./expressions.ts";
import type { AnalyticsStore } from "./store.ts";
import { usageFilter } from "./usage-filter.ts";

const LAST = `toUnixTimestamp64Milli(max(u.ts)) AS last_used_ms,
  argMax(u.model, (u.ts, u.request_id)) AS last_model,
  argMax(u.status_code, (u.ts, u.request_id)) AS last_status_code`;

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

/** Keys with activity in the window, busiest first; the window bounds everything. Throws 503. */
export async function readKeySummaries(
  store: AnalyticsStore,
  query: KeySummariesQuery,
  nowMs: number,
): Promise<readonly KeySummary[]> {
  const { where, params } = usageFilter(query, nowMs, { refusals: false });
  return await store.rows<KeySummary>(
    `SELECT ${idText("key_id")}, ${idText("tenant_id")}, ${LAST}, ${TOTALS}, ${ENERGY}
     FROM ${store.db}.usage_raw AS u WHERE ${where} AND u.key_id != toUUID('${NIL_UUID}')
     GROUP BY u.key_id, u.tenant_id ORDER BY total_tokens DESC, key_id LIMIT {limit:UInt32}`,
    { ...params, limit: query.limit },
  );
}

/** One key: sums since `sinceMs`, its last request ever as far as the ledger reaches. Throws 503. */
export async function readKeySummary(
  store: AnalyticsStore,
  key: { readonly id: string; readonly tenant_id: string },
  query: { readonly since_ms?: number | undefined; readonly include_internal: boolean },
  nowMs: number,
): Promise<KeySummary> {
  const of = { key_id: key.id, include_internal: query.include_internal };
  const within = usageFilter({ ...of, since_ms: query.since_ms }, nowMs, { refusals: false });
  const ever = usageFilter({ ...of, since_ms: 0 }, nowMs, { refusals: false });
  const [[sums], [last]] = await Promise.all([
    store.rows<Omit<KeySummary, "last_used_ms">>(
      `SELECT ${TOTALS}, ${ENERGY} FROM ${store.db}.usage_raw AS u WHERE ${within.where}`,
      within.params,
    ),
    store.rows<{ last_used_ms: number; last_model: string; last_status_code: number }>(
      `SELECT toUnixTimestamp64Milli(u.ts) AS last_used_ms, u.model AS last_model, u.status_code AS last_status_code
       FROM ${store.db}.usage_raw AS u WHERE ${ever.where} ORDER BY u.ts DESC, u.request_id DESC LIMIT 1`,
      ever.params,
    ),
  ]);
  return {
    ...NOTHING,
    ...sums,
    key_id: key.id,
    tenant_id: key.tenant_id,
    last_used_ms: last?.last_used_ms ?? 0,
    last_model: last?.last_model ?? "",
    last_status_code: last?.last_status_code ?? 0,
  };
}
