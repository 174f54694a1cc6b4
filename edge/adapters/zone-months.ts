/**
 * Calendar months in IANA zones (docs/rules/budgets.md#periods). A zone that is not valid counts as UTC
 * (docs/rules/tenants.md#access-windows).
 */
import type { MonthOf } from "../domain/budget/term-budget.ts";
import type { MonthBounds } from "../domain/budget/usage-view.ts";

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone);
  if (known !== undefined) return known;
  const shape = { year: "numeric", month: "2-digit", calendar: "gregory", numberingSystem: "latn" } as const;
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat("en-US", { ...shape, timeZone: zone });
  } catch {
    format = new Intl.DateTimeFormat("en-US", { ...shape, timeZone: "UTC" });
  }
  formats.set(zone, format);
  return format;
}

/** In every time zone midnight falls on a full quarter of an hour of UTC, so that one quarter lies in one month. */
const QUARTER_MS = 15 * 60_000;
const last = new Map<string, { readonly quarter: number; readonly month: string }>();

/** The local month of an instant, `YYYY-MM`. */
export const monthOf: MonthOf = (epochMs, zone) => {
  const quarter = Math.floor(epochMs / QUARTER_MS);
  const known = last.get(zone);
  if (known?.quarter === quarter) return known.month;
  const month = monthIn(epochMs, zone);
  last.set(zone, { quarter, month });
  return month;
};

const monthIn: MonthOf = (epochMs, zone) => {
  const parts = formatOf(zone).formatToParts(epochMs);
  const part = (type: string): string => parts.find((each) => each.type === type)?.value ?? "";
  return `${part("year").padStart(4, "0")}-${part("month")}`;
};

const SEARCH_WIDTH_MS = 15 * 3_600_000;

/** The first instant of the local month. It is searched around the month's first midnight in UTC. */
function startOf(year: number, month: number, zone: string): number {
  const name = `${String(year).padStart(4, "0")}-${String(month).padStart(2, "0")}`;
  const midnight = Date.UTC(year, month - 1, 1);
  let before = midnight - SEARCH_WIDTH_MS;
  let within = midnight + SEARCH_WIDTH_MS;
  while (within - before > 1) {
    const middle = Math.floor((before + within) / 2);
    if (monthIn(middle, zone) < name) before = middle;
    else within = middle;
  }
  return within;
}

/** The first instant of the local month, and of the next one. */
export const monthBounds: MonthBounds = (epochMs, zone) => {
  const [year = 1970, month = 1] = monthOf(epochMs, zone).split("-").map(Number);
  const next = month === 12 ? [year + 1, 1] : [year, month + 1];
  return { startMs: startOf(year, month, zone), endMs: startOf(next[0] ?? year, next[1] ?? 1, zone) };
};
