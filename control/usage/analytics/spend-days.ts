/** Reads spend per day, split by what it was spent on (docs/rules/usage-reads.md#shapes). */
import type { DailySpend, DailySpendQuery } from "../../../shared/schema/cost-reads.ts";
import type { dailyNames } from "../../../shared/schema/usage-reads.ts";
import { physical, usd } from "./expressions.ts";
import type { AnalyticsStore } from "./store.ts";
import { namedDays } from "./usage-daily.ts";
import { groupSql } from "./usage-groups.ts";
import { usageSource } from "./usage-source.ts";
import { daysOf } from "./usage-window.ts";

type Row = Omit<DailySpend, keyof typeof dailyNames>;

/**
 * One row per day and group, by day, then most expensive first; the groups that are not among the `top` most expensive of the
 * period are one row a day. Throws 503.
 */
export async function readDailySpend(
  store: AnalyticsStore,
  query: DailySpendQuery,
  nowMs: number,
): Promise<readonly Row[]> {
  const days = daysOf(query, nowMs);
  const { include_internal: unknownCallers } = query;
  const wanted = { detail: "quarters", unknownCallers } as const;
  const { from, params } = await usageSource(store, { ...query, timezone: days.zone }, wanted, nowMs);
  const named = namedDays(days);
  const all = groupSql(query.group_by).by.join(", ");
  const top = `SELECT ${all} FROM ${from} GROUP BY ${all}
    ORDER BY sum(u.cost_usd) DESC, sum(u.total_tokens) DESC, ${all} LIMIT {top:UInt32}`;
  const isShown = `(${all}) IN (${top})`;
  const { columns, by } = groupSql(query.group_by, { day: named.expression, isDaily: true, isShown });
  const rows = await store.rows<Omit<Row, "is_rest"> & { readonly is_rest: number }>(
    `SELECT ${columns}, NOT ${isShown} AS is_rest, sum(u.requests) AS requests, sum(u.total_tokens) AS total_tokens,
       ${usd("sum(u.cost_usd)")} AS cost_usd, ${physical("sum(u.energy_wh)")} AS energy_wh,
       ${physical("sum(u.co2_g)")} AS co2_g
     FROM ${from} GROUP BY ${[...by, "is_rest"].join(", ")}
     ORDER BY day, is_rest, cost_usd DESC, ${by.join(", ")}`,
    { ...params, ...named.params, top: query.top },
  );
  return rows.map((row) => ({ ...row, day: named.nameOf(row.day), is_rest: row.is_rest === 1 }));
}
