/**
 * Days by the clock of an IANA zone (docs/rules/usage-reads.md#days-of-a-zone). A day starts at the first instant at which the
 * zone's calendar shows it, which is not always midnight, and lasts as long as the calendar shows it: 23 to 25 hours where
 * clocks change. Days follow each other without gap or overlap. Pure: time and zone are arguments.
 */

/** Zones change their offsets, and start their days, at full quarters of an hour of UTC. */
export const QUARTER_MS = 15 * 60_000;

const DAY_MS = 86_400_000;
/** No zone's midnight is further from the midnight of UTC. */
const SEARCH_WIDTH_MS = 15 * 3_600_000;
/** More than there are zones: only a hostile sequence of names could exceed it. */
const FORMATS_MAX = 1000;
const formats = new Map<string, Intl.DateTimeFormat>();

/** The day of an instant in a zone, YYYY-MM-DD. Throws RangeError for a name that is not a zone's. */
export function dayIn(zone: string, epochMs: number): string {
  const parts = formatOf(zone).formatToParts(epochMs);
  const part = (type: string): string => parts.find((each) => each.type === type)?.value ?? "";
  return `${part("year").padStart(4, "0")}-${part("month")}-${part("day")}`;
}

/** Whether days of this zone are those of UTC, under any name. */
export function isUtc(zone: string): boolean {
  return formatOf(zone).resolvedOptions().timeZone === "UTC";
}

/** The first instant of a calendar day in a zone, epoch ms; for a day that the zone skipped, of the next one. */
export function dayStartMs(zone: string, day: string): number {
  const midnightMs = Date.parse(`${day}T00:00:00Z`);
  let before = (midnightMs - SEARCH_WIDTH_MS) / QUARTER_MS;
  let within = (midnightMs + SEARCH_WIDTH_MS) / QUARTER_MS;
  while (within - before > 1) {
    const middle = Math.floor((before + within) / 2);
    if (dayIn(zone, middle * QUARTER_MS) < day) before = middle;
    else within = middle;
  }
  return within * QUARTER_MS;
}

/** The day of the calendar that follows, YYYY-MM-DD. */
export function dayAfter(day: string): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + DAY_MS).toISOString().slice(0, 10);
}

/** Days in order, with the first instant of each, and the end of the last one (exclusive); epoch ms. */
interface ZoneDays {
  readonly days: readonly { readonly day: string; readonly startMs: number }[];
  readonly endMs: number;
}

/** The days from `first` to `last`, both inclusive; none when `last` is before `first`. Takes time per day. */
export function daysBetween(zone: string, first: string, last: string): ZoneDays {
  const days: { readonly day: string; readonly startMs: number }[] = [];
  let day = first;
  for (; day <= last; day = dayAfter(day)) days.push({ day, startMs: dayStartMs(zone, day) });
  return { days, endMs: dayStartMs(zone, day) };
}

function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone);
  if (known !== undefined) return known;
  const format = new Intl.DateTimeFormat("en-US", {
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    calendar: "gregory",
    numberingSystem: "latn",
    timeZone: zone,
  });
  if (formats.size >= FORMATS_MAX) formats.clear();
  formats.set(zone, format);
  return format;
}
