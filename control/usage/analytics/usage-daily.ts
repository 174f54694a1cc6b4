/** Reads usage by day, tenant, key, model, end user or tag, with percentiles where the rollup by quarters has them. */
import type { DailyGroup, DailySums, UsageDailyQuery } from "../../../shared/schema/usage-reads.ts";
import { daysBetween, isUtc } from "../../../shared/time/zone-days.ts";
import { NIL_UUID } from "../../../shared/usage/usage-row.ts";
import { physical, usd } from "./expressions.ts";
import { PERCENTILES } from "./quarter-rollup.ts";
import type { AnalyticsStore } from "./store.ts";
import { usageSource } from "./usage-source.ts";
import { daysOf } from "./usage-window.ts";

const GROUP_FIELDS = ["day", "tenant_id", "key_id", "model", "end_user", "tag_value"] as const;
type GroupField = (typeof GROUP_FIELDS)[number];

const GROUPED: Record<DailyGroup, readonly GroupField[]> = {
  day: ["day"],
  tenant: ["tenant_id"],
  key: ["key_id"],
  model: ["model"],
  key_model: ["key_id", "model"],
  end_user: ["end_user", "tenant_id"],
  tag: ["tag_value"],
};
/** The most groups of clients in an answer: they can state any number. */
const ROWS_MAX = 10_000;

const NIL = `'${NIL_UUID}'`;
const NOT_GROUPED: Record<GroupField, string> = {
  day: "''",
  tenant_id: NIL,
  key_id: NIL,
  model: "''",
  end_user: "''",
  tag_value: "''",
};

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

/** One row per group, sorted by day (ascending) or by tokens (most first). Throws 503. */
export async function readDaily(
  store: AnalyticsStore,
  query: UsageDailyQuery,
  nowMs: number,
): Promise<readonly DailySums[]> {
  const { zone, first, last } = daysOf(query, nowMs);
  const { include_internal: unknownCallers } = query;
  const wanted = { detail: "quarters", unknownCallers } as const;
  const { from, params } = await usageSource(store, { ...query, timezone: zone }, wanted, nowMs);
  if (query.group_by !== "day" || isUtc(zone))
    return await store.rows<DailySums>(statement(query.group_by, "toString(toDate(u.at))", from), params);
  // the start of a row's day, in seconds; the names of days are added to the few rows of the answer
  const day = "toString(roundDown(toUnixTimestamp(u.at), {starts:Array(UInt32)}))";
  const { days } = daysBetween(zone, first, last);
  if (days.length === 0) return [];
  const starts = days.map(({ startMs }) => startMs / 1000);
  const rows = await store.rows<DailySums>(statement("day", day, from), { ...params, starts });
  const names = new Map(days.map(({ day: name, startMs }) => [String(startMs / 1000), name]));
  return rows.map((row) => ({ ...row, day: names.get(row.day) ?? "" }));
}

/** A read by group; `day` is the expression of a row's day. */
function statement(group: DailyGroup, day: string, from: string): string {
  const grouped = GROUPED[group];
  const expressions: Partial<Record<GroupField, string>> = {
    day,
    model: "u.model",
    end_user: "u.label",
    tag_value: "u.label",
  };
  const expression = (name: GroupField): string => expressions[name] ?? `toString(u.${name})`;
  const fields = GROUP_FIELDS.map(
    (name) => `${grouped.includes(name) ? expression(name) : NOT_GROUPED[name]} AS ${name}`,
  );
  const by = grouped.map(expression).join(", ");
  const isOfClients = group === "end_user" || group === "tag";
  return `SELECT ${fields.join(", ")}, ${SUMS}, ${PERCENTILES} FROM ${from}
     GROUP BY ${by} ORDER BY ${group === "day" ? by : `total_tokens DESC, ${by}`}${isOfClients ? ` LIMIT ${ROWS_MAX}` : ""}`;
}
