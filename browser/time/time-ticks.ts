/**
 * Where a time axis has its marks and what stands at them, by the clock of a zone. Marks are at round times of that clock
 * (full hours, first instants of days and months), also where clocks change: a day of 23 hours has its marks where the clock
 * shows them. Pure.
 */
import { localTime } from "../../shared/access/access-window.ts";
import { dayAfter, dayIn, dayStartMs, QUARTER_MS } from "../../shared/time/zone-days.ts";
import { formatMonth, formatShortDay, formatTimeOfDay, isInstant } from "./instants.ts";
import { usableZone } from "./zones.ts";

/** Marks of an axis, in order. */
interface TimeTicks {
  readonly atMs: readonly number[];
  /** A text for each mark; the first one, and each one of another day, names its day in a second line. */
  readonly labels: readonly string[];
}

const SECOND_MS = 1000;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const STEPS_MS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200].map(
  (seconds) => seconds * SECOND_MS,
);
const DAY_STEPS = [1, 2, 3, 7, 14];
const MONTH_STEPS = [1, 2, 3, 6, 12, 24, 60, 120, 600, 1200];
const NO_TICKS: TimeTicks = { atMs: [], labels: [] };
const LONGEST_MONTH_DAYS = 31;

/** The marks from `fromMs` to `toMs`, both inclusive: at most `maxTicks`, and some more where a clock repeats an hour. */
export function timeTicks(zoneName: string, fromMs: number, toMs: number, maxTicks: number): TimeTicks {
  if (!isInstant(fromMs) || !isInstant(toMs) || !(toMs > fromMs) || !(maxTicks >= 1)) return NO_TICKS;
  const zone = usableZone(zoneName);
  const leastMs = (toMs - fromMs) / Math.min(Math.floor(maxTicks), 100);
  const stepMs = STEPS_MS.find((step) => step >= leastMs);
  if (stepMs !== undefined) return withTimes(zone, timesOfDay(zone, fromMs, toMs, stepMs), stepMs);
  const days = DAY_STEPS.find((count) => count * DAY_MS >= leastMs);
  if (days !== undefined) return withDays(zone, daysEvery(zone, fromMs, toMs, days));
  const months = MONTH_STEPS.find((count) => count * 28 * DAY_MS >= leastMs) ?? MONTH_STEPS.at(-1) ?? 1;
  return withMonths(zone, monthsEvery(zone, fromMs, toMs, months));
}

/** Times at which the clock shows a multiple of the step. Clocks change by full quarters of an hour. */
function timesOfDay(zone: string, fromMs: number, toMs: number, stepMs: number): number[] {
  const ticks: number[] = [];
  if (stepMs <= QUARTER_MS) {
    for (let at = Math.ceil(fromMs / stepMs) * stepMs; at <= toMs; at += stepMs) ticks.push(at);
    return ticks;
  }
  const stepMin = stepMs / MINUTE_MS;
  for (let at = Math.ceil(fromMs / QUARTER_MS) * QUARTER_MS; at <= toMs; at += QUARTER_MS)
    if (localTime(zone, at).minute % stepMin === 0) ticks.push(at);
  return ticks;
}

/** First instants of every n-th day of the calendar, counted from 1970, so that marks stay when the period moves on. */
function daysEvery(zone: string, fromMs: number, toMs: number, count: number): number[] {
  const ticks: number[] = [];
  let day = dayIn(zone, fromMs);
  while ((Date.parse(day) / DAY_MS) % count !== 0) day = dayAfter(day);
  for (; dayStartMs(zone, day) <= toMs; day = dayIn("UTC", Date.parse(day) + count * DAY_MS)) {
    const at = dayStartMs(zone, day);
    if (at >= fromMs) ticks.push(at);
  }
  return ticks;
}

/** First instants of every n-th month, counted from the year 0. */
function monthsEvery(zone: string, fromMs: number, toMs: number, count: number): number[] {
  const ticks: number[] = [];
  const [year = 1970, month = 1] = dayIn(zone, fromMs).split("-").map(Number);
  for (let index = Math.ceil((year * 12 + month - 1) / count) * count; ; index += count) {
    const midnightMs = Date.UTC(Math.floor(index / 12), index % 12, 1);
    if (!isInstant(midnightMs) || midnightMs > toMs + LONGEST_MONTH_DAYS * DAY_MS) return ticks;
    const at = dayStartMs(zone, new Date(midnightMs).toISOString().slice(0, 10));
    if (at > toMs) return ticks;
    if (at >= fromMs) ticks.push(at);
  }
}

function withTimes(zone: string, atMs: readonly number[], stepMs: number): TimeTicks {
  const precision = stepMs < MINUTE_MS ? "second" : "minute";
  const days = atMs.map((at) => formatShortDay(zone, at));
  const labels = atMs.map((at, index) => {
    const time = formatTimeOfDay(zone, at, precision);
    return days[index] === days[index - 1] ? time : `${time}\n${days[index]}`;
  });
  return { atMs, labels };
}

function withDays(zone: string, atMs: readonly number[]): TimeTicks {
  return { atMs, labels: atMs.map((at) => formatShortDay(zone, at)) };
}

function withMonths(zone: string, atMs: readonly number[]): TimeTicks {
  return { atMs, labels: atMs.map((at) => formatMonth(zone, at)) };
}
