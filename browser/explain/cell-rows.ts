/** The cells of the gateway as rows of a table: load, and whether each one still reports. Pure. */
import type { AttentionItem } from "../../shared/schema/attention.ts";

/** A cell as `/stats` lists it. */
interface CellReport {
  readonly cell: string;
  readonly in_flight: number;
  readonly queued: number;
  readonly max_in_flight: number;
  /** Epoch ms. */
  readonly last_seen_ms: number;
}

/** One row; what a cell that is gone had last says nothing of now, so its load is null. */
export interface CellRow {
  readonly cell: string;
  readonly isGone: boolean;
  readonly inFlight: number | null;
  readonly queued: number | null;
  readonly maxInFlight: number | null;
  /** When it was heard of last, epoch ms; null: never. */
  readonly lastSeenMs: number | null;
}

/** A cell that was silent for longer is gone (docs/rules/attention.md#kinds). */
const GONE_MS = 60_000;

/**
 * Every cell that reported within a day, and every cell that the attention list calls unreachable; by name. `nowMs` is the
 * time of the read.
 */
export function cellRows(
  reports: readonly CellReport[],
  attention: readonly AttentionItem[],
  nowMs: number,
): readonly CellRow[] {
  const rows = new Map<string, CellRow>();
  for (const { cell, in_flight, queued, max_in_flight, last_seen_ms } of reports) {
    const isGone = nowMs - last_seen_ms > GONE_MS;
    const load = isGone
      ? { inFlight: null, queued: null, maxInFlight: null }
      : { inFlight: in_flight, queued, maxInFlight: max_in_flight };
    rows.set(cell, { cell, isGone, ...load, lastSeenMs: last_seen_ms });
  }
  for (const { kind, entity_id: cell, since } of attention) {
    if (kind !== "cell_unreachable") continue;
    const sinceMs = since === null ? Number.NaN : Date.parse(since);
    const lastSeenMs = rows.get(cell)?.lastSeenMs ?? (Number.isFinite(sinceMs) ? sinceMs : null);
    rows.set(cell, { cell, isGone: true, inFlight: null, queued: null, maxInFlight: null, lastSeenMs });
  }
  return [...rows.values()].sort((a, b) => (a.cell < b.cell ? -1 : a.cell > b.cell ? 1 : 0));
}

/** Requests that run and wait in all cells that answer; null: none answers. */
export function loadOfAll(rows: readonly CellRow[]): {
  readonly inFlight: number | null;
  readonly queued: number | null;
  readonly maxInFlight: number | null;
} {
  const here = rows.filter(({ isGone }) => !isGone);
  const sum = (of: (row: CellRow) => number | null): number | null =>
    here.length === 0 ? null : here.reduce((total, row) => total + (of(row) ?? 0), 0);
  return {
    inFlight: sum(({ inFlight }) => inFlight),
    queued: sum(({ queued }) => queued),
    maxInFlight: sum(({ maxInFlight }) => maxInFlight),
  };
}
