/**
 * The current month beside the previous one, and its projected cost (docs/rules/usage-reads.md#months). Days are those of the
 * calendar, YYYY-MM-DD. Pure.
 */

const DAY_MS = 86_400_000;
/** A week has each day of the week once. */
const RECENT_DAYS = 7;
/** A shorter part of a day says nothing about the rest of it. */
const LEAST_OF_DAY = 1 / 24;

/** The days that a month is compared by; both ends of each are inclusive. */
interface MonthDays {
  readonly first: string;
  readonly today: string;
  readonly last: string;
  readonly lastMonth: { readonly first: string; readonly last: string };
  /** The last of the same days of the month before, which may have fewer. */
  readonly sameDaysLast: string;
  /** The first of the whole days before today from which the forecast takes its rate. */
  readonly recentFirst: string;
}

export function monthDays(today: string): MonthDays {
  const first = `${today.slice(0, 7)}-01`;
  const last = dayOf(Date.UTC(yearOf(today), monthOf(today), 0));
  const lastOfBefore = daysFrom(first, -1);
  const before = `${lastOfBefore.slice(0, 8)}${today.slice(8)}`;
  return {
    first,
    today,
    last,
    lastMonth: { first: `${lastOfBefore.slice(0, 7)}-01`, last: lastOfBefore },
    sameDaysLast: before < lastOfBefore ? before : lastOfBefore,
    recentFirst: daysFrom(today, -RECENT_DAYS),
  };
}

/** The spend of one group, or in total. */
interface SpentSoFar {
  readonly monthToDateUsd: number;
  /** In the whole days from `recentFirst` on, without today. */
  readonly recentUsd: number;
  readonly todayUsd: number;
  /** The first day with spend since the previous month started; null if there is none. */
  readonly firstDay: string | null;
}

/**
 * The projected cost of the month: the spend so far, and for the remaining time the mean of the last seven whole days, or of as
 * many as there are since the first spend. On the very first day it is today's rate. `elapsed`: the part of today that is over,
 * 0 to 1. Null: less than an hour is known.
 */
export function forecastUsd(
  spent: SpentSoFar,
  { today, last, recentFirst }: MonthDays,
  elapsed: number,
): number | null {
  const { monthToDateUsd, recentUsd, todayUsd, firstDay } = spent;
  if (firstDay === null) return monthToDateUsd;
  const wholeDays = daysApart(firstDay > recentFirst ? firstDay : recentFirst, today);
  if (wholeDays <= 0 && elapsed < LEAST_OF_DAY) return null;
  const perDayUsd = wholeDays <= 0 ? todayUsd / elapsed : recentUsd / wholeDays;
  return monthToDateUsd + perDayUsd * (daysApart(today, last) + 1 - elapsed);
}

const dayOf = (epochMs: number): string => new Date(epochMs).toISOString().slice(0, 10);
const daysFrom = (day: string, count: number): string => dayOf(Date.parse(day) + count * DAY_MS);
const daysApart = (from: string, to: string): number => Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS);
const yearOf = (day: string): number => Number(day.slice(0, 4));
const monthOf = (day: string): number => Number(day.slice(5, 7));
