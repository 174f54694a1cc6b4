/** The time that the page shows, in buckets of equal width, also where nothing was asked. Pure. */
import type { Records } from "../../data/api.ts";
import { type Period, periodBounds, periodFrom } from "../../time/periods.ts";

const HOUR_MS = 3_600_000;
/** Widths of a bucket, each a multiple of the one before. */
const WIDTHS_MS = [HOUR_MS / 4, HOUR_MS, 3 * HOUR_MS, 6 * HOUR_MS, 12 * HOUR_MS, 24 * HOUR_MS, 168 * HOUR_MS] as const;
const BUCKETS_MAX = 200;

export const SERVICE_PERIODS = ["24h", "7d", "30d", "90d"] as const;

interface ServiceWindow {
  readonly period: Period;
  /** The start of the first bucket, epoch ms. */
  readonly fromMs: number;
  /** Exclusive; at most the end of the bucket that runs now. */
  readonly toMs: number;
  readonly widthMs: number;
  /** Null: until now. */
  readonly untilMs: number | null;
}

/** The window that an address names, by the clock of `zone`; by default the last 24 hours. */
export function serviceWindow(param: string | undefined, zone: string, nowMs: number): ServiceWindow {
  const named = periodFrom(param ?? "");
  const period: Period =
    named === null || named.kind === "month" || named.kind === "last-month" ? { kind: "24h" } : named;
  const bounds = periodBounds(period, zone, nowMs);
  const isOver = bounds.toMs < nowMs;
  const lastsMs = Math.max(0, Math.min(bounds.toMs, nowMs) - bounds.fromMs);
  const widthMs = WIDTHS_MS.find((width) => lastsMs / width <= BUCKETS_MAX) ?? 168 * HOUR_MS;
  const fromMs = Math.max(0, Math.floor(bounds.fromMs / widthMs) * widthMs);
  const toMs = isOver ? bounds.toMs : (Math.floor(nowMs / widthMs) + 1) * widthMs;
  return { period, fromMs, toMs: Math.max(toMs, fromMs), widthMs, untilMs: isOver ? bounds.toMs - 1 : null };
}

export type HealthRow = Records["UsageHealth"];

/** A row for each bucket of the window, in order; null: nothing was asked then. */
export function bucketsOf(
  rows: readonly HealthRow[],
  { fromMs, toMs, widthMs }: Pick<ServiceWindow, "fromMs" | "toMs" | "widthMs">,
): readonly { readonly atMs: number; readonly row: HealthRow | null }[] {
  const byStart = new Map(rows.map((row) => [row.bucket_ms, row]));
  const count = Math.max(1, Math.ceil((toMs - fromMs) / widthMs));
  return Array.from({ length: count }, (_, at) => {
    const atMs = fromMs + at * widthMs;
    return { atMs, row: byStart.get(atMs) ?? null };
  });
}

/** How many requests ended how. */
interface OutcomeSums {
  readonly requests: number;
  readonly served: number;
  readonly refused: number;
  readonly failed: number;
  readonly left: number;
}

export function outcomeSums(rows: readonly HealthRow[]): OutcomeSums {
  const sum = (of: (row: HealthRow) => number): number => rows.reduce((all, row) => all + of(row), 0);
  return {
    requests: sum((row) => row.requests),
    served: sum((row) => row.served_requests),
    refused: sum((row) => row.refused_requests),
    failed: sum((row) => row.failed_requests),
    left: sum((row) => row.left_requests),
  };
}
