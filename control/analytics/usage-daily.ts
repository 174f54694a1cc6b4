/**
 * Reads the permanent daily rollup (docs/rules/storage-layouts.md#usage-daily). Days are UTC. Rows are always summed
 * again, because a SummingMergeTree merges its parts at a time of its own choice.
 */
import type { DailyGroup, DailyUsage, UsageDailyQuery } from "../../shared/schema/usage-reads.ts";
import { NIL_UUID } from "../../shared/usage-row.ts";
import { physical, usd } from "./expressions.ts";
import type { AnalyticsStore, QueryParams } from "./store.ts";
import { dayOf } from "./usage-sums.ts";

const DAY_MS = 86_400_000;
const DEFAULT_DAYS = 7;

const GROUPED: Record<DailyGroup, readonly ("day" | "tenant_id" | "key_id" | "model")[]> = {
  day: ["day"],
  tenant: ["tenant_id"],
  key: ["key_id"],
  model: ["model"],
  key_model: ["key_id", "model"],
};

const NOT_GROUPED = { day: "''", tenant_id: `'${NIL_UUID}'`, key_id: `'${NIL_UUID}'`, model: "''" } as const;

/** One row per group, sorted by day (ascending) or by tokens (most first). Throws 503. */
export async function readDaily(
  store: AnalyticsStore,
  query: UsageDailyQuery,
  nowMs: number,
): Promise<readonly DailyUsage[]> {
  const grouped = GROUPED[query.group_by];
  const fields = (["day", "tenant_id", "key_id", "model"] as const).map((name) => {
    if (!grouped.includes(name)) return `${NOT_GROUPED[name]} AS ${name}`;
    return name === "model" ? "d.model AS model" : `toString(d.${name}) AS ${name}`;
  });
  const by = grouped.map((name) => `d.${name}`).join(", ");
  const { where, params } = filter(query, nowMs);
  return await store.rows<DailyUsage>(
    `SELECT ${fields.join(", ")},
       sum(d.requests) AS requests,
       sum(d.success_requests) AS success_requests,
       sum(d.error_requests) AS error_requests,
       sum(d.input_tokens) AS input_tokens,
       sum(d.output_tokens) AS output_tokens,
       sum(d.total_tokens) AS total_tokens,
       sum(d.estimated_tokens) AS estimated_tokens,
       sum(d.cache_hits) AS cache_hits,
       sum(d.cache_misses) AS cache_misses,
       round(sum(d.sum_ttft_ms) / greatest(sum(d.success_requests), 1), 1) AS avg_ttft_ms,
       round(sum(d.sum_total_ms) / greatest(sum(d.success_requests), 1), 1) AS avg_total_ms,
       ${usd("sum(d.cost_usd)")} AS cost_usd,
       ${physical("sum(d.energy_wh)")} AS energy_wh,
       ${usd("sum(d.energy_cost_usd)")} AS energy_cost_usd,
       ${physical("sum(d.co2_g)")} AS co2_g
     FROM ${store.db}.usage_daily AS d WHERE ${where}
     GROUP BY ${by} ORDER BY ${query.group_by === "day" ? "d.day" : "total_tokens DESC"}, ${by}`,
    params,
  );
}

function filter(query: UsageDailyQuery, nowMs: number): { where: string; params: QueryParams } {
  const params: Record<string, string | readonly string[]> = {
    start: query.start_day ?? dayOf(nowMs - DEFAULT_DAYS * DAY_MS),
    end: query.end_day ?? dayOf(nowMs),
  };
  const where = ["d.day BETWEEN {start:Date} AND {end:Date}"];
  const add = (condition: string, name: string, value: string | readonly string[] | undefined): void => {
    if (value === undefined) return;
    where.push(condition);
    params[name] = value;
  };
  add("d.tenant_id = {tenant:UUID}", "tenant", query.tenant_id);
  add("d.key_id IN {keys:Array(UUID)}", "keys", query.key_id);
  add("d.model = {name:String}", "name", query.model);
  if (!query.include_internal) where.push(`d.tenant_id != toUUID('${NIL_UUID}')`);
  return { where: where.join(" AND "), params };
}
