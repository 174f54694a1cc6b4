/** The counters of `/metrics`, compared with the rows of the ledger: one count per row (docs/rules/metrics.md#counting). */
import { readExposition, scrapeWith } from "../harness/exposition.ts";
import type { Row } from "./compare-rows.ts";
import type { Difference } from "./differences.ts";

const CELL = { cell: "local" };

/** What each counter must say of these rows. */
function counted(
  rows: readonly Row[],
): readonly (readonly [name: string, labels: Readonly<Record<string, string>>, value: number])[] {
  const count = (holds: (row: Row) => boolean): number => rows.filter(holds).length;
  const sum = (field: string, from: readonly Row[]): number =>
    from.reduce((total, row) => total + Number(row[field]), 0);
  const classOf = (row: Row): string => `${Math.floor(Number(row["status_code"]) / 100)}xx`;
  const requests = ["fast", "queued", "rejected"].flatMap((admission) =>
    ["2xx", "4xx", "5xx"].map((status) => {
      const value = count((row) => row["admission"] === admission && classOf(row) === status);
      return ["gateway_requests_total", { admission, status }, value] as const;
    }),
  );
  const hits = rows.filter((row) => row["cache_status"] === "hit");
  return [
    ...requests,
    ["gateway_input_tokens_total", {}, sum("input_tokens", rows)],
    ["gateway_output_tokens_total", {}, sum("output_tokens", rows)],
    ["gateway_cache_lookups_total", { result: "hit" }, hits.length],
    ["gateway_cache_lookups_total", { result: "miss" }, count((row) => row["cache_status"] === "miss")],
    ["gateway_cache_tokens_saved_total", {}, sum("total_tokens", hits)],
    ["gateway_upstream_attempts_total", { outcome: "success" }, count((row) => row["upstream_status"] === 200)],
    ["gateway_telemetry_dropped", {}, 0],
    ["gateway_in_flight", {}, 0],
    ["gateway_queue_depth", {}, 0],
  ];
}

export async function compareMetrics(metricsUrl: string, rows: readonly Row[]): Promise<readonly Difference[]> {
  const shown = await readExposition(await scrapeWith(["local"], metricsUrl));
  const counters = counted(rows).flatMap(([name, labels, expected]) => {
    const found = shown.value(name, { ...CELL, ...labels });
    return found === expected ? [] : [{ what: `metric: ${name}`, expected, found, more: JSON.stringify(labels) }];
  });
  const served = rows.filter((row) => row["admission"] !== "rejected").length;
  const times = shown.histogram("gateway_total_ms", CELL)?.count;
  return times === served
    ? counters
    : [...counters, { what: "metric: gateway_total_ms_count", expected: served, found: times }];
}
