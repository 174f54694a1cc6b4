/** The days of a report, the days before that they are compared with, and whether both are still known. Pure. */
import { dayIn, isUtc } from "../../../shared/zone-days.ts";
import { daysBefore, monthBefore, type Period, periodBounds, periodFrom } from "../../time/periods.ts";

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
  /** As many days before, or the month before; null: they are not kept any more. */
  readonly before: Days | null;
  /** The first of the days that is still known; null: all are. */
  readonly keptFrom: string | null;
}

/** The moving periods of a report. */
export const REPORT_PERIODS = ["7d", "30d", "month"] as const;
/** Days of other zones than UTC are summed from quarters of an hour (docs/rules/usage-reads.md#days-of-a-zone). */
const KEPT_DAYS = 400;
const DAY_MS = 86_400_000;

/** The period that an address names, by the clock of `zone`; by default this month. */
export function reportPeriod(param: string | undefined, zone: string, nowMs: number): ReportPeriod {
  const named = periodFrom(param ?? "");
  const period: Period = named === null || named.kind === "24h" ? { kind: "month" } : named;
  const { fromMs, toMs, days } = periodBounds(period, zone, nowMs);
  const shown = days ?? { first: "", last: "" };
  const before = daysBeforeThese(period, shown);
  const kept = keptFrom(zone, nowMs);
  return {
    period,
    days: shown,
    range: { fromMs, toMs },
    before: kept === null || before.first >= kept ? before : null,
    keptFrom: kept === null || shown.first >= kept ? null : kept,
  };
}

/** The first day of a zone of which there are figures; null: UTC's are kept for ever. */
export function keptFrom(zone: string, nowMs: number): string | null {
  return isUtc(zone) ? null : daysBefore(dayIn(zone, nowMs), KEPT_DAYS);
}

function daysBeforeThese({ kind }: Period, { first, last }: Days): Days {
  if (kind === "month") {
    const { fromDay, toDay } = monthBefore(first);
    return { first: fromDay, last: toDay };
  }
  const count = Math.round((Date.parse(last) - Date.parse(first)) / DAY_MS) + 1;
  return { first: daysBefore(first, count), last: daysBefore(first, 1) };
}
