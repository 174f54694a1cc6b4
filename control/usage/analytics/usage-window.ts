/**
 * The window of time that a read of usage is about, and which table each stretch of it is read from. The only place that
 * chooses (docs/rules/usage-reads.md#sources), so that two reads of one window count the same requests. Pure.
 */
import { dayAfter, dayIn, dayStartMs, isUtc, QUARTER_MS } from "../../../shared/time/zone-days.ts";

/** How long quarters are kept, in days. */
export const QUARTERS_KEPT_DAYS = 400;
const DAY_MS = 86_400_000;
const DEFAULT_DAYS = 7;
const LAST_DAY_MS = Date.parse("9999-12-31T00:00:00Z");

/** Epoch ms. */
export interface UsageWindow {
  readonly fromMs: number;
  /** Exclusive; Infinity: without an end. */
  readonly beforeMs: number;
}

/** The fields of a query that name its window: by instants, or by days of a zone, both inclusive. */
export interface WindowQuery {
  readonly since_ms?: number | undefined;
  readonly until_ms?: number | undefined;
  readonly start_day?: string | undefined;
  readonly end_day?: string | undefined;
  readonly timezone?: string | undefined;
}

/** Whether a query names days, and not instants. */
export function namesDays({ start_day, end_day, timezone }: WindowQuery): boolean {
  return [start_day, end_day, timezone].some((value) => value !== undefined);
}

/** The window that a query names: by default the last 24 hours; of days, the last week and today. */
export function windowOf(query: WindowQuery, nowMs: number): UsageWindow {
  if (namesDays(query)) {
    const { zone, first, last } = daysOf(query, nowMs);
    if (first > last) return { fromMs: nowMs, beforeMs: nowMs };
    return { fromMs: dayStartMs(zone, first), beforeMs: dayStartMs(zone, dayAfter(last)) };
  }
  const { since_ms: sinceMs = nowMs - DAY_MS, until_ms: untilMs = Number.POSITIVE_INFINITY } = query;
  return { fromMs: Math.max(0, sinceMs), beforeMs: untilMs + 1 };
}

/**
 * The days that a query names, YYYY-MM-DD, within those that can have usage; without this, a period of any length would be
 * walked day by day. None: `first` is after `last`.
 */
export function daysOf(
  { start_day, end_day, timezone: zone = "UTC" }: WindowQuery,
  nowMs: number,
): { readonly zone: string; readonly first: string; readonly last: string } {
  const oldest = isUtc(zone) ? dayOf(0) : dayOf(nowMs - (QUARTERS_KEPT_DAYS + 2) * DAY_MS);
  const newest = dayOf(nowMs + 2 * DAY_MS);
  let first = start_day ?? dayIn(zone, nowMs - DEFAULT_DAYS * DAY_MS);
  let last = end_day ?? dayIn(zone, nowMs);
  if (first < oldest) first = oldest;
  if (last > newest) last = newest;
  return { zone, first, last };
}

/** The UTC day of an instant, YYYY-MM-DD; for instants after the year 9999 the last day that this form can hold. */
export function dayOf(epochMs: number): string {
  return new Date(Math.min(epochMs, LAST_DAY_MS)).toISOString().slice(0, 10);
}

type SourceTable = "requests" | "quarters" | "days";

/** A part of a window, and the table that it is read from. */
export interface Stretch extends UsageWindow {
  readonly table: SourceTable;
}

/** How far the tables reach back, epoch ms. The daily rollup has every day. */
export interface Reach {
  /** From this midnight on every request has its row. */
  readonly rowsFromMs: number;
  /** From then on every request is in the rollup by quarters. */
  readonly quartersFromMs: number;
}

/**
 * What a read needs: figures of single requests, as far as these are there; times by quarters; or sums alone. `listed`: sums
 * of the rows that are there, as the log lists them.
 */
export type Detail = "requests" | "quarters" | "sums" | "listed";

/**
 * The stretches of a window, in order of time. Where rows were dropped the rollups alone count: a late row that is still there
 * is in them too. The window then has whole quarters only, and whole days where quarters are not kept. Elsewhere all tables
 * have the same requests, and the cheapest one is read that has what is needed. `onlyRows`: no rollup has it.
 */
export function stretchesOf(
  window: UsageWindow,
  reach: Reach,
  { detail, onlyRows }: { readonly detail: Detail; readonly onlyRows: boolean },
  nowMs: number,
): readonly Stretch[] {
  const dropped = before(window, reach.rowsFromMs);
  const kept = from(window, reach.rowsFromMs);
  const rows = (part: UsageWindow): readonly Stretch[] => [{ ...part, table: "requests" }];
  const none = (): readonly Stretch[] => [];
  const quarters = (part: UsageWindow, rest: Rest) => inner(part, QUARTER_MS, "quarters", rest);
  const days = (part: UsageWindow, rest: Rest) => inner(part, DAY_MS, "days", rest);

  const wholeQuarters = (part: UsageWindow) => quarters(part, none);
  const fineFromMs = Math.ceil(reach.quartersFromMs / DAY_MS) * DAY_MS;
  const fine = from(dropped, fineFromMs);
  const ofDropped = [
    ...days(before(dropped, fineFromMs), none),
    ...(detail === "sums" ? days(fine, wholeQuarters) : wholeQuarters(fine)),
  ];
  const ofKept = (): readonly Stretch[] => {
    if (onlyRows || detail === "requests") return rows(kept);
    if (detail === "quarters")
      return [...rows(before(kept, reach.quartersFromMs)), ...quarters(from(kept, reach.quartersFromMs), rows)];
    const todayMs = Math.floor(nowMs / DAY_MS) * DAY_MS;
    return [...days(before(kept, todayMs), rows), ...rows(from(kept, todayMs))];
  };
  return joined([...(detail === "listed" ? rows(dropped) : ofDropped), ...ofKept()]);
}

/** Without empty stretches, those that follow each other in one table as one. */
function joined(stretches: readonly Stretch[]): readonly Stretch[] {
  const all: Stretch[] = [];
  for (const part of stretches) {
    const last = all.at(-1);
    if (part.fromMs >= part.beforeMs) continue;
    if (last?.table === part.table && last.beforeMs === part.fromMs)
      all[all.length - 1] = { ...last, beforeMs: part.beforeMs };
    else all.push(part);
  }
  return all;
}

type Rest = (part: UsageWindow) => readonly Stretch[];

/** A part's whole units from one table, and what remains at its ends from `rest`. */
function inner(part: UsageWindow, unitMs: number, table: SourceTable, rest: Rest): readonly Stretch[] {
  const fromMs = Math.ceil(part.fromMs / unitMs) * unitMs;
  const beforeMs = Math.floor(part.beforeMs / unitMs) * unitMs;
  if (fromMs >= beforeMs) return rest(part);
  return [...rest(before(part, fromMs)), { table, fromMs, beforeMs }, ...rest(from(part, beforeMs))];
}

const before = ({ fromMs, beforeMs }: UsageWindow, ms: number): UsageWindow => ({
  fromMs,
  beforeMs: Math.min(beforeMs, ms),
});
const from = ({ fromMs, beforeMs }: UsageWindow, ms: number): UsageWindow => ({
  fromMs: Math.max(fromMs, ms),
  beforeMs,
});
