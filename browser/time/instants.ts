/**
 * Instants, days and ages as text. Pure: zone and clock are arguments. What is not an instant is shown as unknown, never as
 * an error and never as 1970.
 */
import { timeTexts } from "../messages/en/time.ts";
import { texts } from "../messages/texts.ts";
import { usableZone } from "./zones.ts";

const text = texts("time", timeTexts);
/** By which dates are written: day before month, 24 hours. */
export const LOCALE = "en-GB";

/** To what an instant is written. */
type InstantPrecision = "minute" | "second" | "ms";

/** The largest time value of ECMAScript, epoch ms, on both sides of 1970. */
const INSTANT_MAX_MS = 8.64e15;
/** More combinations than pages use: only a hostile sequence of names could exceed it. */
const FORMATS_MAX = 200;

const age = new Intl.RelativeTimeFormat(LOCALE, { style: "short", numeric: "always" });
/** Says "now" for 0. */
const ageInWords = new Intl.RelativeTimeFormat(LOCALE, { style: "short", numeric: "auto" });
const formats = new Map<string, Intl.DateTimeFormat>();

/** True for a number that is an instant in epoch ms. */
export function isInstant(value: number | null | undefined): value is number {
  return typeof value === "number" && Math.abs(value) <= INSTANT_MAX_MS;
}

/** Epoch ms of a time as the API writes it; null for null and for what is not a time. */
export function instantOf(text: string | null): number | null {
  const epochMs = text === null ? Number.NaN : Date.parse(text);
  return isInstant(epochMs) ? epochMs : null;
}

/** `23 Nov 2026, 01:42:07` in a zone; a dash when it is not known. */
export function formatInstant(zone: string, epochMs: number | null, precision: InstantPrecision = "second"): string {
  if (!isInstant(epochMs)) return text("unknown");
  return formatOf(`instant ${precision}`, zone, {
    day: "numeric",
    month: "short",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    ...(precision === "minute" ? {} : { second: "2-digit" }),
    ...(precision === "ms" ? { fractionalSecondDigits: 3 } : {}),
    hourCycle: "h23",
  }).format(epochMs);
}

/** `01:42` or `01:42:07` in a zone. */
export function formatTimeOfDay(zone: string, epochMs: number, precision: "minute" | "second"): string {
  if (!isInstant(epochMs)) return text("unknown");
  return formatOf(`time ${precision}`, zone, {
    hour: "2-digit",
    minute: "2-digit",
    ...(precision === "second" ? { second: "2-digit" } : {}),
    hourCycle: "h23",
  }).format(epochMs);
}

/** `23 Nov`, of the day that an instant is in. */
export function formatShortDay(zone: string, epochMs: number): string {
  if (!isInstant(epochMs)) return text("unknown");
  return formatOf("short day", zone, { day: "numeric", month: "short" }).format(epochMs);
}

/** `23 Nov 2026`, of the day that an instant is in. */
export function formatDate(zone: string, epochMs: number): string {
  if (!isInstant(epochMs)) return text("unknown");
  return formatOf("date", zone, { day: "numeric", month: "short", year: "numeric" }).format(epochMs);
}

/** `Nov 2026`, of the month that an instant is in. */
export function formatMonth(zone: string, epochMs: number): string {
  if (!isInstant(epochMs)) return text("unknown");
  return formatOf("month", zone, { month: "short", year: "numeric" }).format(epochMs);
}

/** `Mon, 23 Nov 2026` of a day of the calendar, YYYY-MM-DD, whatever the zone. */
export function formatDay(day: string): string {
  const midnightMs = Date.parse(`${day}T00:00:00Z`);
  if (!isInstant(midnightMs)) return text("unknown");
  const shape = { weekday: "short", day: "numeric", month: "short", year: "numeric" } as const;
  return formatOf("day", "UTC", shape).format(midnightMs);
}

/** A Sunday, for the names of weekdays. */
const SUNDAY_MS = Date.UTC(2026, 10, 22);
const DAY_MS = 86_400_000;

/** The name of a weekday, 0 is Sunday. */
export function weekdayName(day: number, length: "short" | "long"): string {
  return formatOf(`weekday ${length}`, "UTC", { weekday: length }).format(SUNDAY_MS + day * DAY_MS);
}

/** Minutes from midnight as `09:30`; the end of the day is `24:00`. */
export function formatMinutes(minutes: number): string {
  const twoDigits = (count: number): string => String(count).padStart(2, "0");
  return `${twoDigits(Math.floor(minutes / 60))}:${twoDigits(minutes % 60)}`;
}

/** Minutes from midnight of a text such as `09:30`; null for anything else. */
export function minutesOf(text: string): number | null {
  const [, hours = "", minutes = ""] = /^([01]\d|2[0-3]):([0-5]\d)$/.exec(text.trim()) ?? [];
  return hours === "" ? null : Number(hours) * 60 + Number(minutes);
}

const SECONDS = { unit: "second", fromMs: 0, ms: 1000 } as const;
/** The units of ages with the ms from which each one is used, the longest first. */
const AGE_UNITS = [
  { unit: "year", fromMs: 2 * 365.25 * 86_400_000, ms: 365.25 * 86_400_000 },
  { unit: "month", fromMs: 60 * 86_400_000, ms: 30.4375 * 86_400_000 },
  { unit: "day", fromMs: 48 * 3_600_000, ms: 86_400_000 },
  { unit: "hour", fromMs: 3_600_000, ms: 3_600_000 },
  { unit: "minute", fromMs: 60_000, ms: 60_000 },
  SECONDS,
] as const;
/** Clocks of browsers and servers differ: what is this little ahead happens now. */
const SKEW_MS = 5000;

/** `3 min ago`, `in 2 hr`, `now`; what has passed is never rounded up, what comes is rounded to the nearest unit. A dash when it is not known. */
export function formatAge(nowMs: number, epochMs: number | null): string {
  if (!isInstant(epochMs) || !isInstant(nowMs)) return text("unknown");
  const agoMs = nowMs - epochMs;
  const lengthMs = agoMs < 0 && agoMs > -SKEW_MS ? 0 : Math.abs(agoMs);
  const { unit, ms } = AGE_UNITS.find(({ fromMs }) => lengthMs >= fromMs) ?? SECONDS;
  const count = (agoMs < 0 ? Math.round : Math.floor)(lengthMs / ms);
  if (count === 0) return ageInWords.format(0, "second");
  return age.format(agoMs < 0 ? count : -count, unit);
}

function formatOf(kind: string, zone: string, shape: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${kind} ${zone}`;
  const known = formats.get(key);
  if (known !== undefined) return known;
  const format = new Intl.DateTimeFormat(LOCALE, { ...shape, timeZone: usableZone(zone) });
  if (formats.size >= FORMATS_MAX) formats.clear();
  formats.set(key, format);
  return format;
}
