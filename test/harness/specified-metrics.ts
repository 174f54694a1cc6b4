/**
 * Every metric that the gateway exports (docs/rules/metrics.md#families, docs/rules/identities.md#metrics), as a scraper
 * reads it. A difference between this table and the exporter is a defect of one of the two.
 */
import type { Exposition } from "./exposition.ts";

export interface SpecifiedMetric {
  readonly name: string;
  readonly type: "counter" | "gauge" | "histogram";
  /** Label names besides `cell`, in alphabetical order. */
  readonly labels: readonly string[];
  /** Whether every cell reports it, with its name in the label `cell`; otherwise the control service does. */
  readonly of: "cell" | "control";
  /** Upper bounds in ms. */
  readonly bounds?: readonly number[];
  /**
   * How many series a cell has from the start: a counter whose labels have a closed list of values has all of them, with
   * the value 0. 0: the series appear with their events.
   */
  readonly fromStart: number;
}

const metric = (
  of: SpecifiedMetric["of"],
  type: SpecifiedMetric["type"],
  name: string,
  labels: readonly string[] = [],
  fromStart = 1,
): SpecifiedMetric => ({ name, type, labels, of, fromStart });

export const SPECIFIED_METRICS: readonly SpecifiedMetric[] = [
  metric("cell", "counter", "gateway_requests_total", ["admission", "status"], 16),
  metric("cell", "counter", "gateway_input_tokens_total"),
  metric("cell", "counter", "gateway_output_tokens_total"),
  {
    ...metric("cell", "histogram", "gateway_ttft_ms"),
    bounds: [5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000],
  },
  {
    ...metric("cell", "histogram", "gateway_total_ms"),
    bounds: [10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000],
  },
  metric("cell", "gauge", "gateway_in_flight"),
  metric("cell", "gauge", "gateway_queue_depth"),
  metric("cell", "counter", "gateway_cache_lookups_total", ["result"], 2),
  metric("cell", "counter", "gateway_cache_tokens_saved_total"),
  metric("cell", "counter", "gateway_compression_tokens_saved_total"),
  metric("cell", "counter", "gateway_boon_runs_total", ["boon", "outcome"], 39),
  metric("cell", "counter", "gateway_boon_ms_total", ["boon"], 13),
  metric("cell", "counter", "gateway_mcp_requests_total", ["server", "status"], 0),
  metric("cell", "counter", "gateway_upstream_attempts_total", ["outcome"], 5),
  metric("cell", "gauge", "gateway_telemetry_dropped"),
  metric("cell", "gauge", "gateway_telemetry_aside"),
  metric("cell", "gauge", "gateway_spill_bytes"),
  metric("cell", "counter", "gateway_budget_unchecked_total"),
  metric("cell", "counter", "gateway_jwt_verify_total", ["result"], 4),
  metric("cell", "counter", "gateway_jwks_refresh_total", ["issuer_index", "result"], 0),
  metric("cell", "counter", "gateway_otel_spans_dropped_total", ["reason"], 2),
  // the control service has one more series of these two
  metric("cell", "gauge", "gateway_build_info", ["version"]),
  metric("cell", "counter", "gateway_auth_failures_total", ["plane"]),
  metric("control", "gauge", "gateway_backup_interval_seconds"),
  metric("control", "gauge", "gateway_backup_last_success_timestamp_seconds"),
  metric("control", "gauge", "gateway_cell_up"),
  metric("control", "counter", "gateway_job_runs_total", ["name", "outcome"]),
  metric("control", "gauge", "gateway_model_replicas", ["state"]),
  metric("control", "gauge", "gateway_outbox_pending"),
  metric("control", "gauge", "gateway_provision_errors"),
  metric("control", "gauge", "gateway_provisioner_held"),
  metric("control", "counter", "gateway_provisioner_restarts_total"),
  metric("control", "counter", "gateway_provisioner_submits_total"),
  metric("control", "counter", "gateway_provisioner_ticks_total", ["outcome"]),
  metric("control", "gauge", "gateway_tls_expires_at"),
];

/** Name, type, label names in order, and the number of series of each cell; sorted by name. */
type Shown = readonly (readonly [string, string, readonly string[], readonly number[]])[];

const byName = (shown: Shown): Shown => shown.toSorted(([one], [two]) => (one < two ? -1 : 1));

export function shownMetrics({ families }: Exposition, cells: readonly string[]): Shown {
  const own = Object.entries(families).filter(([name]) => name.startsWith("gateway_"));
  return byName(
    own.map(([name, { type, data }]) => {
      const labels = [...new Set(data.flatMap((each) => Object.keys(each.labels)))].sort();
      const counts = cells.map((cell) => data.filter((each) => each.labels["cell"] === cell).length);
      return [name, type, labels, counts];
    }),
  );
}

/**
 * The same from the table. A metric whose series appear with their events has one series for each cell when `happened`
 * names it.
 */
export function specifiedMetrics(happened: readonly string[], cells: readonly string[]): Shown {
  return byName(
    SPECIFIED_METRICS.map(({ name, type, labels, of, fromStart }) => {
      const perCell = of === "cell" || name === "gateway_cell_up";
      const count = fromStart > 0 ? fromStart : Number(happened.includes(name));
      if (count === 0) return [name, type, [], cells.map(() => 0)];
      const all = perCell ? [...labels, "cell"].sort() : labels;
      return [name, type, all, cells.map(() => (perCell ? count : 0))];
    }),
  );
}
