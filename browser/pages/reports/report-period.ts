/** The days of a report, the days before that they are compared with, if these are still known. Pure. */
import { monthDays } from "../../../shared/money/month-costs.ts";
import { dayIn } from "../../../shared/time/zone-days.ts";
import { daysBefore, keptFrom, type Period, periodBounds, periodFrom } from "../../time/periods.ts";

/** Days of the calendar, YYYY-MM-DD, both inclusive. */
export interface Days {
  readonly first: string;
  readonly last: string;
}

interface ReportPeriod {
  readonly period: Period;
  readonly days: Days;
  /** Bounds of the days, epoch ms. */
  readonly range: { readonly fromMs: number; readonly toMs: number };
  /** As many days before, the same days of the month before, or the month before; null: they are not kept any more. */
  readonly before: Days | null;
}

/** The moving periods of a report. */
export const REPORT_PERIODS = ["month", "last-month", "7d", "30d", "90d"] as const;
const DAY_MS = 86_400_000;

/** The period that an address names, by the clock of `zone`; by default this month. */
export function reportPeriod(param: string | undefined, zone: string, nowMs: number): ReportPeriod {
  const named = periodFrom(param ?? "");
  const period: Period = named === null || named.kind === "24h" ? { kind: "month" } : named;
  const { fromMs, toMs, days } = periodBounds(period, zone, nowMs);
  const shown = days ?? { first: "", last: "" };
  const before = daysBeforeThese(period, shown, dayIn(zone, nowMs));
  return {
    period,
    days: shown,
    range: { fromMs, toMs },
    before: keptFrom(zone, before.first, nowMs) === null ? before : null,
  };
}

function daysBeforeThese({ kind }: Period, { first, last }: Days, today: string): Days {
  const { lastMonth, sameDaysLast } = monthDays(kind === "month" ? today : first);
  if (kind === "month") return { first: lastMonth.first, last: sameDaysLast };
  if (kind === "last-month") return lastMonth;
  const count = Math.round((Date.parse(last) - Date.parse(first)) / DAY_MS) + 1;
  return { first: daysBefore(first, count), last: daysBefore(first, 1) };
}
