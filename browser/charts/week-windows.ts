/**
 * The weekly access windows of a tenant, read and edited (docs/rules/tenants.md#access-windows). No windows mean always open, so
 * that "never open" cannot be said: taking away the last open minute is refused. Windows end at midnight; one that continues
 * after it is two, and is read as one. Pure.
 */
import { isWithinWindows, localTime, openUntilMs, type WeeklyWindow } from "../../shared/access/access-window.ts";
import { QUARTER_MS } from "../../shared/time/zone-days.ts";

export const DAY_MIN = 1440;
export const WEEK_DAYS = 7;
const MINUTE_MS = 60_000;
const QUARTER_MIN = 15;
/** A window comes again within a week, and a change of clocks may skip it once. */
const SEARCH_MS = 15 * 86_400_000;

/** A time of the week during which a tenant is served without a break. Day 0 is Sunday; `endMin` is at most 1440. */
export interface OpenSpell {
  readonly startDay: number;
  readonly startMin: number;
  readonly endDay: number;
  readonly endMin: number;
}

/** The same times as the fewest windows, by day and start. What is no window is left out; the whole week is no windows. */
export function mergedWindows(windows: readonly WeeklyWindow[]): readonly WeeklyWindow[] {
  const merged: { day: number; start_min: number; end_min: number }[] = [];
  const sorted = windows.filter(isWindow).sort((a, b) => a.day - b.day || a.start_min - b.start_min);
  for (const { day, start_min, end_min } of sorted) {
    const last = merged.at(-1);
    if (last?.day === day && start_min <= last.end_min) last.end_min = Math.max(last.end_min, end_min);
    else merged.push({ day, start_min, end_min });
  }
  return merged.length === WEEK_DAYS && merged.every(isWholeDay) ? [] : merged;
}

/** The windows with a part of one day opened or closed; null when nothing would be open. Times that are no window's: no change. */
export function withPart(
  windows: readonly WeeklyWindow[],
  part: WeeklyWindow,
  isOpen: boolean,
): readonly WeeklyWindow[] | null {
  if (!isWindow(part)) return windows;
  const before = explicit(windows);
  if (isOpen) return mergedWindows([...before, part]);
  const after = before.flatMap((window) => {
    if (window.day !== part.day) return [window];
    const first = { ...window, end_min: Math.min(window.end_min, part.start_min) };
    const second = { ...window, start_min: Math.max(window.start_min, part.end_min) };
    return [first, second].filter(isWindow);
  });
  return after.length === 0 ? null : mergedWindows(after);
}

/** How many minutes of a part of a day are open. */
export function openMinutes(windows: readonly WeeklyWindow[], { day, start_min, end_min }: WeeklyWindow): number {
  return explicit(windows)
    .filter((window) => window.day === day)
    .reduce(
      (sum, window) => sum + Math.max(0, Math.min(window.end_min, end_min) - Math.max(window.start_min, start_min)),
      0,
    );
}

/** The windows from a time of a day until another one: two when it ends at or before its start, and so on the next day. */
export function windowsBetween(day: number, startMin: number, endMin: number): readonly WeeklyWindow[] {
  if (startMin < endMin) return [{ day, start_min: startMin, end_min: endMin }].filter(isWindow);
  return [
    { day, start_min: startMin, end_min: DAY_MIN },
    { day: (day + 1) % WEEK_DAYS, start_min: 0, end_min: endMin },
  ].filter(isWindow);
}

/** The open times of the week, those that continue after midnight as one. Empty: always open. */
export function openSpells(windows: readonly WeeklyWindow[]): readonly OpenSpell[] {
  const merged = mergedWindows(windows);
  const spells = merged.map(({ day, start_min, end_min }) => ({
    startDay: day,
    startMin: start_min,
    endDay: day,
    endMin: end_min,
  }));
  const joined: { startDay: number; startMin: number; endDay: number; endMin: number }[] = [];
  for (const spell of spells) {
    const last = joined.at(-1);
    if (last !== undefined && goesOn(last, spell)) Object.assign(last, { endDay: spell.endDay, endMin: spell.endMin });
    else joined.push(spell);
  }
  const [first, last] = [joined[0], joined.at(-1)];
  if (first === undefined || last === undefined || first === last || !goesOn(last, first)) return joined;
  return [...joined.slice(1, -1), { ...last, endDay: first.endDay, endMin: first.endMin }];
}

/** The windows without one of their open times; null when nothing would be open. */
export function withoutSpell(windows: readonly WeeklyWindow[], spell: OpenSpell): readonly WeeklyWindow[] | null {
  let rest: readonly WeeklyWindow[] | null = windows;
  for (const part of partsOf(spell)) rest = rest === null ? null : withPart(rest, part, false);
  return rest;
}

/** An open time as one window for each day. */
function partsOf({ startDay, startMin, endDay, endMin }: OpenSpell): readonly WeeklyWindow[] {
  if (startDay === endDay && startMin < endMin) return [{ day: startDay, start_min: startMin, end_min: endMin }];
  const days = (endDay - startDay + WEEK_DAYS) % WEEK_DAYS || WEEK_DAYS;
  const between = Array.from({ length: days - 1 }, (_, at) => (startDay + 1 + at) % WEEK_DAYS);
  return [
    { day: startDay, start_min: startMin, end_min: DAY_MIN },
    ...between.map((day) => ({ day, start_min: 0, end_min: DAY_MIN })),
    { day: endDay, start_min: 0, end_min: endMin },
  ];
}

/** Whether a tenant with these windows is served now, and when that changes, epoch ms; null: it does not within two weeks. */
export function openNow(
  windows: readonly WeeklyWindow[],
  zone: string,
  nowMs: number,
): { readonly isOpen: boolean; readonly changesAtMs: number | null } {
  if (windows.length === 0) return { isOpen: true, changesAtMs: null };
  const isOpen = isWithinWindows(windows, zone, nowMs);
  return { isOpen, changesAtMs: isOpen ? closesAt(windows, zone, nowMs) : opensAt(windows, zone, nowMs) };
}

/** Windows that touch each other, at midnight or where clocks change, are one. */
function closesAt(windows: readonly WeeklyWindow[], timezone: string, nowMs: number): number | null {
  const terms = { status: "active", timezone, active_from_ms: null, active_until_ms: null } as const;
  for (let at = nowMs; at < nowMs + SEARCH_MS; ) {
    const until = openUntilMs({ ...terms, weekly_windows: [...windows] }, at);
    if (until === null) return null;
    if (!isWithinWindows(windows, timezone, until)) return until;
    at = until;
  }
  return null;
}

/** Zones change their clocks at full quarters of an hour; within a quarter the clock runs evenly. */
function opensAt(windows: readonly WeeklyWindow[], zone: string, nowMs: number): number | null {
  for (let at = Math.floor(nowMs / QUARTER_MS) * QUARTER_MS; at < nowMs + SEARCH_MS; at += QUARTER_MS) {
    const { day, minute } = localTime(zone, at);
    const starts = windows
      .filter((window) => window.day === day && window.start_min < minute + QUARTER_MIN && window.end_min > minute)
      .map((window) => at + Math.max(0, window.start_min - minute) * MINUTE_MS)
      .filter((start) => start > nowMs);
    if (starts.length > 0) return Math.min(...starts);
  }
  return null;
}

function isWindow({ day, start_min, end_min }: WeeklyWindow): boolean {
  const isWhole = Number.isInteger(day) && Number.isInteger(start_min) && Number.isInteger(end_min);
  return isWhole && day >= 0 && day < WEEK_DAYS && start_min >= 0 && start_min < end_min && end_min <= DAY_MIN;
}

function isWholeDay({ start_min, end_min }: WeeklyWindow): boolean {
  return start_min === 0 && end_min === DAY_MIN;
}

/** The windows with always written out as seven whole days; none when every one of them is no window. */
function explicit(windows: readonly WeeklyWindow[]): readonly WeeklyWindow[] {
  const merged = mergedWindows(windows);
  if (merged.length > 0 || (windows.length > 0 && !windows.some(isWindow))) return merged;
  return Array.from({ length: WEEK_DAYS }, (_, day) => ({ day, start_min: 0, end_min: DAY_MIN }));
}

function goesOn(spell: OpenSpell, next: OpenSpell): boolean {
  return spell.endMin === DAY_MIN && next.startMin === 0 && next.startDay === (spell.endDay + 1) % WEEK_DAYS;
}
