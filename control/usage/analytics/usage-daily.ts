/** Reads usage by day, tenant, key, model, end user or tag, with percentiles where the rollup by quarters has them. */
import type { DailyGroup, DailySums, UsageDailyQuery } from "../../../shared/schema/usage-reads.ts";
import { daysBetween, isUtc } from "../../../shared/time/zone-days.ts";
import { physical, usd } from "./expressions.ts";
import { SUMMED_OUTCOMES } from "./figures.ts";
import { PERCENTILES } from "./quarter-rollup.ts";
import type { AnalyticsStore, QueryParams } from "./store.ts";
import { groupSql } from "./usage-groups.ts";
import { usageSource } from "./usage-source.ts";
import { daysOf } from "./usage-window.ts";

/** The most groups of clients in an answer: they can state any number. */
const ROWS_MAX = 10_000;

const SUMS = `sum(u.requests) AS requests,
       sum(u.success_requests) AS success_requests,
       sum(u.error_requests) AS error_requests,
       ${SUMMED_OUTCOMES},
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
  const days = daysOf(query, nowMs);
  const { include_internal: unknownCallers } = query;
  const wanted = { detail: "quarters", unknownCallers } as const;
  const { from, params } = await usageSource(store, { ...query, timezone: days.zone }, wanted, nowMs);
  if (query.group_by !== "day") return await store.rows<DailySums>(statement(query.group_by, "''", from), params);
  const named = namedDays(days);
  const rows = await store.rows<DailySums>(statement("day", named.expression, from), { ...params, ...named.params });
  return rows.map((row) => ({ ...row, day: named.nameOf(row.day) }));
}

interface NamedDays {
  /** Of a row's day. */
  readonly expression: string;
  readonly params: QueryParams;
  /** The day that the expression stands for, YYYY-MM-DD. */
  readonly nameOf: (value: string) => string;
}

/** The SQL that names the day of a row in a zone. */
export function namedDays({ zone, first, last }: ReturnType<typeof daysOf>): NamedDays {
  const { days } = isUtc(zone) || first > last ? { days: [] } : daysBetween(zone, first, last);
  if (days.length === 0) return { expression: "toString(toDate(u.at))", params: {}, nameOf: (value) => value };
  // the start of a row's day, in seconds; the names of days are added to the few rows of the answer
  const names = new Map(days.map(({ day, startMs }) => [String(startMs / 1000), day]));
  return {
    expression: "toString(roundDown(toUnixTimestamp(u.at), {starts:Array(UInt32)}))",
    params: { starts: days.map(({ startMs }) => startMs / 1000) },
    nameOf: (value) => names.get(value) ?? "",
  };
}

/** A read by group; `day` is the expression of a row's day. */
function statement(group: DailyGroup, day: string, from: string): string {
  const { columns, by } = groupSql(group, { day });
  const order = by.join(", ");
  const hasLimit = group === "end_user" || group === "tag";
  return `SELECT ${columns}, ${SUMS}, ${PERCENTILES} FROM ${from}
     GROUP BY ${order} ORDER BY ${group === "day" ? order : `total_tokens DESC, ${order}`}${hasLimit ? ` LIMIT ${ROWS_MAX}` : ""}`;
}
