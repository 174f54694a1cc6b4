/** The lines of seven days, and this month's spend against the last one's same days, in words. Pure. */
import type { MonthSpend } from "../../../shared/schema/cost-reads.ts";
import type { DailyUsage } from "../../../shared/schema/usage-reads.ts";
import { usageTexts } from "../../messages/en/usage.ts";
import { texts } from "../../messages/texts.ts";
import { daysBefore, formatDays } from "../../time/periods.ts";
import { formatShare, formatUsd } from "../../ui/format.ts";
import { changeOf } from "./report-figures.ts";

const text = texts("usage", usageTexts);
const DAYS = 7;

type DayOfWeek = Pick<DailyUsage, "day" | "requests" | "failed_requests" | "cost_usd">;

/** From the first day on; a day without a row had no requests. */
export function weekLines(rows: readonly DayOfWeek[], first: string) {
  const byDay = new Map(rows.map((row) => [row.day, row]));
  const days = Array.from({ length: DAYS }, (_, at) => byDay.get(daysBefore(first, -at)));
  return {
    requests: days.map((row) => row?.requests ?? 0),
    failed: days.map((row) => row?.failed_requests ?? 0),
    costUsd: days.map((row) => row?.cost_usd ?? 0),
  };
}

export type SpendOfMonth = Pick<
  MonthSpend,
  "last_month_start" | "same_days_end" | "month_to_date_usd" | "same_days_usd" | "forecast_usd"
>;

/** `+12.5% against 1 – 29 Oct 2026; forecast $30.00`. */
export function spendNote(spend: SpendOfMonth): string {
  const { month_to_date_usd: now, same_days_usd: before, forecast_usd: forecast } = spend;
  const change = changeOf(before, now);
  const days = formatDays(spend.last_month_start, spend.same_days_end);
  return [
    change === null
      ? text("spendNothingBefore", { days })
      : text("spendAgainst", { days, change: `${change > 0 ? "+" : ""}${formatShare(change)}` }),
    ...(forecast === null || now === 0 ? [] : [text("spendForecast", { amount: formatUsd(forecast) })]),
  ].join("; ");
}
