/**
 * The period that a page shows, as [from, to) and as days of the zone that is shown (docs/rules/console-figures.md#periods).
 * Pure: zone and clock are arguments. Periods of days begin and end where the zone's days do (shared/time/zone-days.ts), so that a
 * page's total is the one of the reports.
 */

import { monthDays } from "../../shared/money/month-costs.ts";
import { isCalendarDay } from "../../shared/time/timestamp.ts";
import { dayAfter, dayIn, dayStartMs, isUtc } from "../../shared/time/zone-days.ts";
import { timeTexts } from "../messages/en/time.ts";
import { texts } from "../messages/texts.ts";
import { isInstant, LOCALE } from "./instants.ts";
import { usableZone } from "./zones.ts";

const text = texts("time", timeTexts);

/** Periods that move with the clock. */
const MOVING_PERIODS = ["24h", "7d", "30d", "90d", "month", "last-month"] as const;

const MOVING_TEXTS = {
  "24h": "period24h",
  "7d": "period7d",
  "30d": "period30d",
  "90d": "period90d",
  month: "periodMonth",
  "last-month": "periodLastMonth",
} as const;

/** What a reader has chosen. */
export type Period =
  | { readonly kind: (typeof MOVING_PERIODS)[number] }
  /** Days of the calendar, YYYY-MM-DD, both inclusive. */
  | { readonly kind: "custom"; readonly fromDay: string; readonly toDay: string };

/** A period at one time, in one zone. */
interface PeriodBounds {
  /** Inclusive, epoch ms. */
  readonly fromMs: number;
  /** Exclusive, epoch ms; may lie ahead: a period of days ends with its last day. */
  readonly toMs: number;
  /** First and last day, both inclusive; null for the last 24 hours, which is no period of days. */
  readonly days: { readonly first: string; readonly last: string } | null;
}

/** Which field of an own period is wrong, and what to do. */
interface PeriodProblem {
  readonly field: "from" | "to";
  readonly text: string;
}

/** Sums by quarters of an hour are kept for 400 days (docs/rules/usage-reads.md#days-of-a-zone). */
const PERIOD_DAYS_MAX = 400;
const DAY_MS = 86_400_000;

/** The bounds of a period at `nowMs`. A zone that is not valid counts as UTC. An own period must have no problem. */
export function periodBounds(period: Period, zoneName: string, nowMs: number): PeriodBounds {
  const zone = usableZone(zoneName);
  const { kind } = period;
  if (kind === "24h") return { fromMs: nowMs - DAY_MS, toMs: nowMs, days: null };
  if (kind === "custom") return boundsOfDays(zone, period.fromDay, period.toDay);
  const today = dayIn(zone, nowMs);
  switch (kind) {
    case "7d":
      return boundsOfDays(zone, daysBefore(today, 6), today);
    case "30d":
      return boundsOfDays(zone, daysBefore(today, 29), today);
    case "90d":
      return boundsOfDays(zone, daysBefore(today, 89), today);
    case "month": {
      const { first, last } = monthDays(today);
      return boundsOfDays(zone, first, last);
    }
    case "last-month": {
      const { lastMonth } = monthDays(today);
      return boundsOfDays(zone, lastMonth.first, lastMonth.last);
    }
    default:
      return kind satisfies never;
  }
}

/** What is wrong with an own period; null when nothing is. */
export function periodProblem(fromDay: string, toDay: string): PeriodProblem | null {
  if (!isCalendarDay(fromDay)) return { field: "from", text: text("problemFrom") };
  if (!isCalendarDay(toDay)) return { field: "to", text: text("problemTo") };
  const days = (Date.parse(toDay) - Date.parse(fromDay)) / DAY_MS + 1;
  if (days < 1) return { field: "to", text: text("problemOrder") };
  if (days > PERIOD_DAYS_MAX) return { field: "from", text: text("problemLength", { days: PERIOD_DAYS_MAX }) };
  return null;
}

/** A period as it stands in an address: `7d`, `2026-11-01..2026-11-08`. */
export function periodParam(period: Period): string {
  return period.kind === "custom" ? `${period.fromDay}..${period.toDay}` : period.kind;
}

/** The period of an address; null lets the page use its default. */
export function periodFrom(param: string): Period | null {
  const moving = MOVING_PERIODS.find((kind) => kind === param);
  if (moving !== undefined) return { kind: moving };
  const [fromDay = "", toDay = "", ...rest] = param.split("..", 3);
  return rest.length === 0 && periodProblem(fromDay, toDay) === null ? { kind: "custom", fromDay, toDay } : null;
}

const daysFormat = new Intl.DateTimeFormat(LOCALE, {
  day: "numeric",
  month: "short",
  year: "numeric",
  timeZone: "UTC",
});

/** `1 – 30 Nov 2026`: days of the calendar, YYYY-MM-DD, both inclusive, whatever the zone. */
export function formatDays(first: string, last: string): string {
  const [fromMs, toMs] = [Date.parse(first), Date.parse(last)];
  return isInstant(fromMs) && isInstant(toMs) ? daysFormat.formatRange(fromMs, toMs) : text("unknown");
}

/** A period in words: `Last 7 days`, `2 – 8 Nov 2026`. */
export function periodLabel(period: Period): string {
  if (period.kind !== "custom") return text(MOVING_TEXTS[period.kind]);
  return formatDays(period.fromDay, period.toDay);
}

function boundsOfDays(zone: string, first: string, last: string): PeriodBounds {
  return { fromMs: dayStartMs(zone, first), toMs: dayStartMs(zone, dayAfter(last)), days: { first, last } };
}

/**
 * The first day of a zone that has figures, when days from `first` on are shown and the earlier ones of them are
 * missing; null: none is missing. UTC's are kept for ever.
 */
export function keptFrom(zoneName: string, first: string, nowMs: number): string | null {
  const zone = usableZone(zoneName);
  if (isUtc(zone)) return null;
  const kept = daysBefore(dayIn(zone, nowMs), PERIOD_DAYS_MAX);
  return first < kept ? kept : null;
}

/** The day of the calendar `count` days before a day, YYYY-MM-DD. */
export function daysBefore(day: string, count: number): string {
  return new Date(Date.parse(day) - count * DAY_MS).toISOString().slice(0, 10);
}

/** The calendar month before the one of a day, YYYY-MM-DD. */
export function monthBefore(day: string): Extract<Period, { readonly kind: "custom" }> {
  const { first, last } = monthDays(day).lastMonth;
  return { kind: "custom", fromDay: first, toDay: last };
}
