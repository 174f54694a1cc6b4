/**
 * Reads usage by day, tenant, key or model. Days of UTC come from the permanent daily rollup
 * (docs/rules/storage-layouts.md#usage-daily), days of other zones and percentiles from the rollup by quarters of an hour
 * (docs/rules/storage-layouts.md#usage-quarter). Rows are always summed again, because both tables merge their parts at a
 * time of their own choice.
 */
import type { DailyGroup, DailySums, UsageDailyQuery } from "../../shared/schema/usage-reads.ts";
import { NIL_UUID } from "../../shared/usage-row.ts";
import { daysBetween, isUtc } from "../../shared/zone-days.ts";
import { dayPeriod } from "./day-period.ts";
import { physical, usd } from "./expressions.ts";
import { PERCENTILES } from "./quarter-rollup.ts";
import { keptDays, quarterRows } from "./quarter-rows.ts";
import type { AnalyticsStore, QueryParams } from "./store.ts";

const GROUP_FIELDS = ["day", "tenant_id", "key_id", "model"] as const;
type GroupField = (typeof GROUP_FIELDS)[number];

const GROUPED: Record<DailyGroup, readonly GroupField[]> = {
  day: ["day"],
  tenant: ["tenant_id"],
  key: ["key_id"],
  model: ["model"],
  key_model: ["key_id", "model"],
};

const NOT_GROUPED = { day: "''", tenant_id: `'${NIL_UUID}'`, key_id: `'${NIL_UUID}'`, model: "''" } as const;

const SUMS = `sum(u.requests) AS requests,
       sum(u.success_requests) AS success_requests,
       sum(u.error_requests) AS error_requests,
       sum(u.input_tokens) AS input_tokens,
       sum(u.output_tokens) AS output_tokens,
       sum(u.total_tokens) AS total_tokens,
       sum(u.estimated_tokens) AS estimated_tokens,
       sum(u.cache_hits) AS cache_hits,
       sum(u.cache_misses) AS cache_misses,
       round(sum(u.sum_ttft_ms) / greatest(sum(u.success_requests), 1), 1) AS avg_ttft_ms,
       round(sum(u.sum_total_ms) / greatest(sum(u.success_requests), 1), 1) AS avg_total_ms,
       ${usd("sum(u.cost_usd)")} AS cost_usd,
       ${physical("sum(u.energy_wh)")} AS energy_wh,
       ${usd("sum(u.energy_cost_usd)")} AS energy_cost_usd,
       ${physical("sum(u.co2_g)")} AS co2_g`;

type Group = Pick<DailySums, GroupField>;
type Percentiles = Pick<DailySums, Extract<keyof DailySums, `p${number}_${string}`>>;

const NO_PERCENTILES: Percentiles = {
  p50_ttft_ms: null,
  p95_ttft_ms: null,
  p99_ttft_ms: null,
  p50_total_ms: null,
  p95_total_ms: null,
  p99_total_ms: null,
  p50_queue_wait_ms: null,
  p95_queue_wait_ms: null,
  p99_queue_wait_ms: null,
};

/** One row per group, sorted by day (ascending) or by tokens (most first). Throws 503. */
export async function readDaily(
  store: AnalyticsStore,
  query: UsageDailyQuery,
  nowMs: number,
): Promise<readonly DailySums[]> {
  const { zone, first, last } = dayPeriod(query, nowMs);
  if (!isUtc(zone)) return await readQuarters<DailySums>(store, query, nowMs, `${SUMS}, ${PERCENTILES}`);
  const [sums, percentiles] = await Promise.all([
    readDays(store, query, { first, last }),
    readQuarters<Group & Percentiles>(store, query, nowMs, `sum(u.total_tokens) AS total_tokens, ${PERCENTILES}`),
  ]);
  const byGroup = new Map(percentiles.map((row) => [groupOf(row), row]));
  // the sums of the daily rollup count: it also has days that the other one has dropped
  return sums.map((row) => ({ ...NO_PERCENTILES, ...byGroup.get(groupOf(row)), ...row }));
}

const groupOf = ({ day, tenant_id, key_id, model }: Group): string => JSON.stringify([day, tenant_id, key_id, model]);

/** Sums of days of UTC. */
async function readDays(
  store: AnalyticsStore,
  query: UsageDailyQuery,
  { first, last }: { readonly first: string; readonly last: string },
): Promise<readonly Omit<DailySums, keyof Percentiles>[]> {
  const params: Record<string, string | readonly string[]> = { start: first, end: last };
  const where = ["u.day BETWEEN {start:Date} AND {end:Date}"];
  const add = (condition: string, name: string, value: string | readonly string[] | undefined): void => {
    if (value === undefined) return;
    where.push(condition);
    params[name] = value;
  };
  add("u.tenant_id = {tenant:UUID}", "tenant", query.tenant_id);
  add("u.key_id IN {keys:Array(UUID)}", "keys", query.key_id);
  add("u.model = {name:String}", "name", query.model);
  if (!query.include_internal) where.push(`u.tenant_id != toUUID('${NIL_UUID}')`);
  const from = `${store.db}.usage_daily AS u WHERE ${where.join(" AND ")}`;
  return await store.rows(statement(query.group_by, SUMS, "toString(u.day)", from), params);
}

/** Figures of days of any zone, as far back as quarters are kept. */
async function readQuarters<T extends Group>(
  store: AnalyticsStore,
  query: UsageDailyQuery,
  nowMs: number,
  figures: string,
): Promise<readonly (T & { readonly total_tokens: number })[]> {
  const { zone, first, last } = dayPeriod(query, nowMs);
  const kept = keptDays(first, last, nowMs);
  if (kept === null) return [];
  const { days, endMs } = daysBetween(zone, ...kept);
  const { tenant_id, key_id: key_ids, model, include_internal: unknownCallers } = query;
  const fromMs = days[0]?.startMs ?? endMs;
  const scope = { fromMs, beforeMs: endMs, tenant_id, key_ids, model, unknownCallers };
  const { from, params } = await quarterRows(store, scope);
  const starts: QueryParams = { starts: days.map(({ startMs }) => startMs / 1000) };
  // the start of a row's day, in seconds; the names of days are added to the few rows of the answer
  const day = "toString(roundDown(toUnixTimestamp(u.quarter), {starts:Array(UInt32)}))";
  const rows = await store.rows<T & { readonly total_tokens: number }>(
    statement(query.group_by, figures, day, `${from} AS u`),
    query.group_by === "day" ? { ...params, ...starts } : params,
  );
  const names = new Map(days.map(({ day: name, startMs }) => [String(startMs / 1000), name]));
  return rows.map((row) => ({ ...row, day: names.get(row.day) ?? "" }));
}

/** A read of figures by group; `day` is the expression of a row's day. */
function statement(group: DailyGroup, figures: string, day: string, from: string): string {
  const grouped = GROUPED[group];
  const expression = (name: GroupField): string =>
    name === "day" ? day : name === "model" ? "u.model" : `toString(u.${name})`;
  const fields = GROUP_FIELDS.map(
    (name) => `${grouped.includes(name) ? expression(name) : NOT_GROUPED[name]} AS ${name}`,
  );
  const by = grouped.map(expression).join(", ");
  return `SELECT ${fields.join(", ")}, ${figures} FROM ${from}
     GROUP BY ${by} ORDER BY ${group === "day" ? by : `total_tokens DESC, ${by}`}`;
}
