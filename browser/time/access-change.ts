/**
 * When a tenant comes to be served, or ceases to be (docs/rules/tenants.md#access-windows). Pure. Whether it is served at one
 * instant is decided by the rule of the data plane alone; here that rule is asked for the instants at which its answer can change.
 */
import { type AccessTerms, accessRefusal, localTime, type WeeklyWindow } from "../../shared/access/access-window.ts";

const MINUTE_MS = 60_000;
/** Zones change their offsets at quarter hours of UTC, so that local time runs on evenly within one. */
const QUARTER_MINUTES = 15;
const QUARTER_MS = QUARTER_MINUTES * MINUTE_MS;
const DAY_MINUTES = 1440;
const WEEK_DAYS = 7;
/** A week and a change of clocks. What does not change in this time is taken to stay as it is. */
const LOOKED_AHEAD_QUARTERS = ((WEEK_DAYS + 1) * DAY_MINUTES) / QUARTER_MINUTES;

/**
 * The next instant after `nowMs`, epoch ms, at which the tenant begins or ceases to be served while its record does not change.
 * Null: it stays as it is, as far as a week ahead shows.
 */
export function nextAccessChangeMs(tenant: AccessTerms, nowMs: number): number | null {
  const { active_from_ms: fromMs, active_until_ms: untilMs } = tenant;
  switch (accessRefusal(tenant, nowMs)) {
    case null: {
      const closesMs = windowChangeMs(tenant, nowMs, false);
      return untilMs === null ? closesMs : Math.min(untilMs, closesMs ?? untilMs);
    }
    case "tenant_not_started":
      return beforeEnd(fromMs === null ? null : windowChangeMs(tenant, fromMs, true), untilMs);
    case "outside_access_window":
      return beforeEnd(windowChangeMs(tenant, nowMs, true), untilMs);
    default:
      return null;
  }
}

function beforeEnd(opensMs: number | null, untilMs: number | null): number | null {
  return opensMs === null || (untilMs !== null && opensMs >= untilMs) ? null : opensMs;
}

/** The first instant from `startMs` on at which a window is open, or none is. Null: not within the time looked ahead. */
function windowChangeMs(tenant: AccessTerms, startMs: number, isOpening: boolean): number | null {
  const { weekly_windows: windows, timezone } = tenant;
  if (windows.length === 0) return isOpening ? startMs : null;
  const firstMs = Math.floor(startMs / QUARTER_MS) * QUARTER_MS;
  for (let nth = 0; nth <= LOOKED_AHEAD_QUARTERS; nth += 1) {
    const quarterMs = firstMs + nth * QUARTER_MS;
    const { day, minute } = localTime(timezone, quarterMs);
    for (let step = 0; step < QUARTER_MINUTES; step += 1) {
      const isSeen = quarterMs + (step + 1) * MINUTE_MS > startMs;
      if (isSeen && isOpenAt(windows, day, minute + step) === isOpening)
        return Math.max(startMs, quarterMs + step * MINUTE_MS);
    }
  }
  return null;
}

/** True when a window has this minute, counted from the beginning of the day, which may lie in the next day. */
function isOpenAt(windows: readonly WeeklyWindow[], day: number, minutes: number): boolean {
  const onDay = (day + Math.floor(minutes / DAY_MINUTES)) % WEEK_DAYS;
  const minute = minutes % DAY_MINUTES;
  return windows.some((window) => window.day === onDay && window.start_min <= minute && minute < window.end_min);
}
