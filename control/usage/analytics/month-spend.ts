/** Reads this month's spend beside the one before, in total and by group, with forecasts (docs/rules/usage-reads.md#months). */
import { forecastUsd, monthDays } from "../../../shared/money/month-costs.ts";
import { roundUsd } from "../../../shared/money/usd.ts";
import type { MonthSpend, MonthSpendQuery } from "../../../shared/schema/cost-reads.ts";
import type { dailyNames } from "../../../shared/schema/usage-reads.ts";
import { dayAfter, dayIn, dayStartMs } from "../../../shared/time/zone-days.ts";
import { usd } from "./expressions.ts";
import type { AnalyticsStore } from "./store.ts";
import { groupSql } from "./usage-groups.ts";
import { usageSource } from "./usage-source.ts";

type Sums = Pick<MonthSpend, "last_month_usd" | "same_days_usd" | "month_to_date_usd">;
type Names = keyof typeof dailyNames;
type Group = Omit<MonthSpend["groups"][number], Names>;
interface Spent extends Sums {
  readonly recent_usd: number;
  readonly today_usd: number;
  /** Of the first request that cost anything, in seconds; 0: none did. */
  readonly first_at: number;
}

/** Groups are sorted by this month's spend, most first. Throws 503. */
export async function readMonthSpend(
  store: AnalyticsStore,
  query: MonthSpendQuery,
  nowMs: number,
): Promise<Omit<MonthSpend, "groups"> & { readonly groups: readonly Group[] }> {
  const zone = query.timezone ?? "UTC";
  const days = monthDays(dayIn(zone, nowMs));
  const startOf = (day: string): number => dayStartMs(zone, day) / 1000;
  const [todayAt, tomorrowAt] = [startOf(days.today), startOf(dayAfter(days.today))];
  const elapsed = Math.min(1, Math.max(0, (nowMs / 1000 - todayAt) / (tomorrowAt - todayAt)));
  const period = { timezone: zone, start_day: days.lastMonth.first, end_day: days.today };
  const wanted = { detail: "quarters", unknownCallers: query.include_internal } as const;
  const { from, params } = await usageSource(store, { ...query, ...period }, wanted, nowMs);
  const bounds = {
    month: startOf(days.first),
    same: startOf(dayAfter(days.sameDaysLast)),
    recent: startOf(days.recentFirst),
    today: todayAt,
  };
  const at = "toUnixTimestamp(u.at)";
  const spent = (condition: string): string => usd(`sumIf(u.cost_usd, ${condition})`);
  const sums = `${spent(`${at} < {month:UInt32}`)} AS last_month_usd,
    ${spent(`${at} < {same:UInt32}`)} AS same_days_usd,
    ${spent(`${at} >= {month:UInt32}`)} AS month_to_date_usd,
    ${spent(`${at} >= {recent:UInt32} AND ${at} < {today:UInt32}`)} AS recent_usd,
    ${spent(`${at} >= {today:UInt32}`)} AS today_usd,
    minIf(${at}, u.cost_usd > 0) AS first_at`;
  const read = async <Row extends Spent>(columns: string, rest: string): Promise<readonly Row[]> =>
    await store.rows<Row>(`SELECT ${columns}${sums} FROM ${from} ${rest}`, {
      ...params,
      ...bounds,
      limit: query.limit,
    });
  const { columns, by } = groupSql(query.group_by);
  const [[total], groups] = await Promise.all([
    read<Spent>("", ""),
    read<Spent & Group>(
      `${columns}, `,
      `GROUP BY ${by.join(", ")} HAVING sum(u.requests) > 0
       ORDER BY month_to_date_usd DESC, last_month_usd DESC, ${by.join(", ")} LIMIT {limit:UInt32}`,
    ),
  ]);
  const shown = <Row extends Spent>({ recent_usd, today_usd, first_at, ...row }: Row) => {
    const forecast = forecastUsd(
      {
        monthToDateUsd: row.month_to_date_usd,
        recentUsd: recent_usd,
        todayUsd: today_usd,
        firstDay: first_at === 0 ? null : dayIn(zone, first_at * 1000),
      },
      days,
      elapsed,
    );
    return { ...row, forecast_usd: forecast === null ? null : roundUsd(forecast) };
  };
  return {
    timezone: zone,
    today: days.today,
    month_start: days.first,
    month_end: days.last,
    last_month_start: days.lastMonth.first,
    same_days_end: days.sameDaysLast,
    ...shown(total ?? NOTHING),
    groups: groups.map(shown),
  };
}

const NOTHING: Spent = {
  last_month_usd: 0,
  same_days_usd: 0,
  month_to_date_usd: 0,
  recent_usd: 0,
  today_usd: 0,
  first_at: 0,
};
