/**
 * When a tenant may be served, and with which models (docs/rules/tenants.md#access-windows): its status, the bounds of
 * its term, and weekly windows in its own time zone. Pure: the clock is an argument. Local wall-clock time decides, so
 * that a window keeps its hours when a zone changes its offset; an hour that a change skips is never open, and an hour
 * that is repeated is open twice.
 */
import type { ErrorCode } from "../errors.ts";
import type { ResolvedTenant } from "../records.ts";

/** Minutes from local midnight; day 0 is Sunday. Start inclusive, end exclusive. */
export interface WeeklyWindow {
  readonly day: number;
  readonly start_min: number;
  readonly end_min: number;
}

/** The fields of a tenant that decide. Instants are Unix epoch ms. */
export type AccessTerms = Pick<
  ResolvedTenant,
  "status" | "timezone" | "active_from_ms" | "active_until_ms" | "weekly_windows"
>;

/** The codes of {@link accessRefusal}. */
export const ACCESS_REFUSALS = [
  "tenant_not_active",
  "tenant_not_started",
  "tenant_expired",
  "outside_access_window",
] as const satisfies readonly ErrorCode[];

/**
 * The error code of the first check that refuses a tenant at an instant (order: docs/rules/tenants.md#access-windows),
 * or null when it may be served.
 */
export function accessRefusal(tenant: AccessTerms, nowMs: number): (typeof ACCESS_REFUSALS)[number] | null {
  if (tenant.status !== "active") return "tenant_not_active";
  if (tenant.active_from_ms !== null && nowMs < tenant.active_from_ms) return "tenant_not_started";
  if (tenant.active_until_ms !== null && nowMs >= tenant.active_until_ms) return "tenant_expired";
  return isWithinWindows(tenant.weekly_windows, tenant.timezone, nowMs) ? null : "outside_access_window";
}

const MINUTE_MS = 60_000;
/** Zones change their offsets at quarter hours of UTC. */
const QUARTER_MS = 15 * MINUTE_MS;

/**
 * The time until which a tenant that is served at `nowMs` is certain to be served while its record does not change: the end
 * of its term or of a weekly window, epoch ms. Null: without end. It may be served longer; after this time it must be
 * checked again.
 */
export function openUntilMs(tenant: AccessTerms, nowMs: number): number | null {
  const { active_until_ms: term, weekly_windows: windows, timezone } = tenant;
  if (windows.length === 0) return term;
  return Math.min(term ?? Number.POSITIVE_INFINITY, windowEndMs(windows, timezone, nowMs));
}

/** The end of the window that is open longest; the next quarter hour when the zone changes its offset before that end. */
function windowEndMs(windows: readonly WeeklyWindow[], zone: string, nowMs: number): number {
  const { day, minute } = localTime(zone, nowMs);
  const open = windows.filter((window) => window.day === day && window.start_min <= minute && minute < window.end_min);
  const endMin = Math.max(minute, ...open.map((window) => window.end_min));
  const endMs = Math.floor(nowMs / MINUTE_MS) * MINUTE_MS + (endMin - minute) * MINUTE_MS;
  const last = localTime(zone, endMs - 1);
  const isEven = last.day === day && last.minute === endMin - 1;
  return isEven ? endMs : Math.min(endMs, Math.floor(nowMs / QUARTER_MS) * QUARTER_MS + QUARTER_MS);
}

/** True when a window is open; without windows always. A zone that is not valid counts as UTC. */
export function isWithinWindows(windows: readonly WeeklyWindow[], zone: string, nowMs: number): boolean {
  if (windows.length === 0) return true;
  const { day, minute } = localTime(zone, nowMs);
  return windows.some((window) => window.day === day && window.start_min <= minute && minute < window.end_min);
}

/**
 * True when the list of a tenant or key permits a model; no list and an empty list permit every model
 * (docs/rules/tenants.md#allowed-models).
 */
export function isModelPermitted(
  { allowed_models: names }: Pick<ResolvedTenant, "allowed_models">,
  modelName: string,
): boolean {
  return names === null || names.length === 0 || names.includes(modelName);
}

const DAYS: readonly string[] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
/** More than there are zones: only a hostile sequence of names could exceed it. */
const FORMATS_MAX = 1000;
const formats = new Map<string, Intl.DateTimeFormat>();

/**
 * Weekday (0 is Sunday) and minute of the day that the clocks of a zone show at an instant. A zone that is not valid counts
 * as UTC. Throws RangeError for an instant that is not one.
 */
export function localTime(zone: string, nowMs: number): { readonly day: number; readonly minute: number } {
  const parts = formatOf(zone).formatToParts(nowMs);
  const part = (type: Intl.DateTimeFormatPartTypes): string => parts.find((each) => each.type === type)?.value ?? "";
  return { day: DAYS.indexOf(part("weekday")), minute: Number(part("hour")) * 60 + Number(part("minute")) };
}

function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone);
  if (known !== undefined) return known;
  const format = makeFormat(zone);
  if (formats.size >= FORMATS_MAX) formats.clear();
  formats.set(zone, format);
  return format;
}

function makeFormat(zone: string): Intl.DateTimeFormat {
  const shape = { weekday: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;
  try {
    return new Intl.DateTimeFormat("en-US", { ...shape, timeZone: zone });
  } catch {
    return new Intl.DateTimeFormat("en-US", { ...shape, timeZone: "UTC" });
  }
}
