/**
 * Raises an alert while a column of the analytics store is missing or has another type: usage rows then wait at the cells
 * (docs/rules/storage-layouts.md#changed-columns).
 */
import { issueOf } from "../../shared/alerts.ts";
import { type AlertSink, raisedNow } from "../kernel/alert-sink.ts";
import { columnDrift, columnSchema, columnsQuery } from "./analytics/schema-drift.ts";
import type { AnalyticsStore } from "./analytics/store.ts";

/** Looks once. `cell`: the control service's own. Rejects when the store or the sink does not answer. */
export async function watchSchema(
  analytics: Pick<AnalyticsStore, "db" | "rows">,
  sink: AlertSink,
  cell: string,
  nowMs: number,
): Promise<void> {
  const rows = await analytics.rows(columnsQuery(analytics.db), {});
  const drift = columnDrift(
    analytics.db,
    rows.map((row) => columnSchema.parse(row)),
  );
  if (drift.length === 0) return;
  const detail = `${drift.map((column) => column.detail).join(", ")}; gateway doctor says what to run`;
  await sink.take([raisedNow(issueOf("analytics_schema_changed", detail), nowMs, cell)]);
}
