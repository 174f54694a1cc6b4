/**
 * The query of the Management API that an address of the page stands for. List, totals, CSV and the line for a terminal all
 * come from it, so that they are about the same requests. Pure.
 */
import { type Period, periodBounds, periodFrom } from "../../time/periods.ts";
import type { LogsSearch, SearchChanges } from "./logs-search.ts";

/** What the page asks of the API, by the names of its query. */
export type LogsQuery = Readonly<Record<string, string>>;

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const ID_BEGINNING = /^[0-9a-f-]{1,36}$/i;
const ERROR_CODE = /^[a-z][a-z0-9_]{0,99}$/;
const TAG = /^[\w.-]{1,64}=[ -+\--~]{1,128}$/;

/** The filters that a person can set, in the order in which they are listed. */
export const FILTERS = [
  "request_id",
  "tenant_id",
  "key_id",
  "model",
  "status",
  "error_code",
  "admission",
  "cache_status",
  "request_type",
  "cell",
  "min_total_ms",
  "min_queue_wait_ms",
  "session_id",
  "end_user",
  "tag",
  "traced_only",
  "include_internal",
] as const satisfies readonly (keyof LogsSearch)[];

export type FilterName = (typeof FILTERS)[number];

/** Filters that only admins have: their fields are not among those that a tenant's users see. */
const FOR_ADMINS: ReadonlySet<FilterName> = new Set<FilterName>([
  "tenant_id",
  "cell",
  "traced_only",
  "include_internal",
]);

/** The filters that a reader has. */
export function filterNamesOf(role: "admin" | "user"): readonly FilterName[] {
  return FILTERS.filter((name) => role === "admin" || !FOR_ADMINS.has(name));
}

/** Takes every filter away, and the window; the period stays. */
export const NO_FILTERS: SearchChanges = Object.fromEntries(
  [...FILTERS, "from_ms", "to_ms"].map((name) => [name, undefined]),
);

/** What the API would refuse is left out, as everything that an address says wrongly. */
const MUST_BE: Partial<Record<FilterName, RegExp>> = {
  tenant_id: UUID,
  key_id: UUID,
  request_id: ID_BEGINNING,
  error_code: ERROR_CODE,
  tag: TAG,
};

/** The period of an address; by default the last 24 hours. */
export function periodOf({ period }: LogsSearch): Period {
  return periodFrom(period ?? "") ?? { kind: "24h" };
}

/** The filters that an address sets, and that this reader has. */
export function filtersOf(search: LogsSearch, role: "admin" | "user"): Readonly<Partial<Record<FilterName, string>>> {
  const set = filterNamesOf(role).flatMap((name) => {
    const value = search[name];
    if (value === undefined) return [];
    const text = typeof value === "number" ? String(Math.floor(value)) : String(value);
    return MUST_BE[name]?.test(text) === false ? [] : [[name, text] as const];
  });
  return Object.fromEntries(set);
}

/** The part of the period that an address names; null: none. */
export function windowOfSearch({ from_ms: from, to_ms: to }: LogsSearch): {
  readonly fromMs: number;
  readonly toMs: number;
} | null {
  return from === undefined || to === undefined || from > to
    ? null
    : { fromMs: Math.floor(from), toMs: Math.floor(to) };
}

/** The query. A window and own days have an end; other periods have none, so that what arrives later is in them. */
export function logsQuery(search: LogsSearch, role: "admin" | "user", zone: string, nowMs: number): LogsQuery {
  const window = windowOfSearch(search);
  if (window !== null)
    return { since_ms: String(window.fromMs), until_ms: String(window.toMs), ...filtersOf(search, role) };
  const period = periodOf(search);
  const { fromMs, toMs } = periodBounds(period, zone, nowMs);
  const end: LogsQuery = period.kind === "custom" ? { until_ms: String(Math.max(0, toMs - 1)) } : {};
  return { since_ms: String(Math.max(0, fromMs)), ...end, ...filtersOf(search, role) };
}

/** True when no request of the period can arrive any more at `nowMs`, but for late ones. */
export function isOver(query: LogsQuery, nowMs: number): boolean {
  const untilMs = query["until_ms"];
  return untilMs !== undefined && Number(untilMs) < nowMs;
}
