/**
 * Every metric that the gateway exports (docs/reference/metrics.md): its kind, its help text, its labels and their values. Labels are few and
 * closed, with no tenant, key or model among them: what a client makes up is never a label.
 */

import type { REPLICA_STATES } from "../fields/model-replica-fields.ts";
import { INPUT_SCANNERS, OUTPUT_SCANNERS } from "../fields/tenant-fields.ts";
import { ADMISSION_CLASSES } from "../usage/usage-values.ts";

interface Metric {
  readonly type: "counter" | "gauge" | "histogram";
  /** Who reports it. Each sample of a cell also has the cell's name as the label `cell`. */
  readonly of: "cell" | "control";
  readonly help: string;
  /** By name of the label: its closed list of values, or in words what they are. */
  readonly labels?: Readonly<Record<string, readonly string[] | string>>;
  /** Upper bounds of a histogram's buckets, in ms. */
  readonly bounds?: readonly number[];
}

/** What counts its runs: boons, the auto router and its classifier, and each scanner of the guardrails on either side. */
const COUNTED_BOONS = [
  "vision",
  "compression",
  "tool_loop",
  "structured_output",
  "auto_route",
  "auto_classifier",
  ...INPUT_SCANNERS.map((scanner) => `guardrails_input:${scanner}` as const),
  ...OUTPUT_SCANNERS.map((scanner) => `guardrails_output:${scanner}` as const),
] as const;

const STATUS_CLASSES = ["2xx", "3xx", "4xx", "5xx"] as const;

export const CELL_METRICS = {
  gateway_requests_total: {
    type: "counter",
    of: "cell",
    help: "Requests that ended, refusals included, by admission and class of status; 499 counts as 4xx.",
    labels: { admission: ADMISSION_CLASSES, status: STATUS_CLASSES },
  },
  gateway_input_tokens_total: { type: "counter", of: "cell", help: "Input tokens of requests that ended." },
  gateway_output_tokens_total: { type: "counter", of: "cell", help: "Output tokens of requests that ended." },
  gateway_ttft_ms: {
    type: "histogram",
    of: "cell",
    help: "Milliseconds from sending a request upstream to the first byte, of successful answers.",
    bounds: [5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000],
  },
  gateway_total_ms: {
    type: "histogram",
    of: "cell",
    help: "Milliseconds from arrival to the last byte, refusals excluded.",
    bounds: [10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 30000],
  },
  gateway_in_flight: { type: "gauge", of: "cell", help: "Requests that hold a slot." },
  gateway_queue_depth: { type: "gauge", of: "cell", help: "Requests that wait for a slot." },
  gateway_upstream_attempts_total: {
    type: "counter",
    of: "cell",
    help: "Attempts at upstreams: retry is a further one at the same endpoint, failover a move to the next, exhausted a request that no endpoint answered.",
    labels: { outcome: ["success", "retry", "timeout", "failover", "exhausted"] },
  },
  gateway_cache_lookups_total: {
    type: "counter",
    of: "cell",
    help: "Requests that looked for a stored answer, by what they found.",
    labels: { result: ["hit", "miss"] },
  },
  gateway_cache_tokens_saved_total: {
    type: "counter",
    of: "cell",
    help: "Tokens of the answers that came from the response cache.",
  },
  gateway_compression_tokens_saved_total: {
    type: "counter",
    of: "cell",
    help: "Tokens that compression took out of requests.",
  },
  gateway_boon_runs_total: {
    type: "counter",
    of: "cell",
    help: "Runs of boons and guardrails scanners: hit changed, refused or chose something, none had nothing to do, failed could not run.",
    labels: { boon: COUNTED_BOONS, outcome: ["hit", "none", "failed"] },
  },
  gateway_boon_ms_total: {
    type: "counter",
    of: "cell",
    help: "Milliseconds that requests waited for boons and guardrails scanners; no CPU time.",
    labels: { boon: COUNTED_BOONS },
  },
  gateway_mcp_requests_total: {
    type: "counter",
    of: "cell",
    help: "Calls of MCP servers.",
    labels: { server: "the registered MCP servers, and `unknown` for all others", status: STATUS_CLASSES },
  },
  gateway_budget_unchecked_total: {
    type: "counter",
    of: "cell",
    help: "Requests let through without a budget check, since the cell started.",
  },
  gateway_spill_bytes: { type: "gauge", of: "cell", help: "Bytes of usage rows that wait for ClickHouse." },
  gateway_telemetry_dropped: { type: "gauge", of: "cell", help: "Usage rows lost for want of room or of a Ledger." },
  gateway_telemetry_aside: {
    type: "gauge",
    of: "cell",
    help: "Usage rows that ClickHouse refuses, kept as dead letters.",
  },
  gateway_jwt_verify_total: {
    type: "counter",
    of: "cell",
    help: "Identity tokens verified, by result.",
    labels: { result: ["ok", "invalid", "expired", "unknown_kid"] },
  },
  gateway_jwks_refresh_total: {
    type: "counter",
    of: "cell",
    help: "Reads of identity providers' key sets.",
    labels: { issuer_index: "the entries of `GATEWAY_JWT_ISSUERS`, from 0", result: ["ok", "error"] },
  },
  gateway_auth_failures_total: {
    type: "counter",
    of: "cell",
    help: "Wrong admin or internal tokens, at a cell (data) and at the control service (admin).",
    labels: { plane: ["data", "admin"] },
  },
  gateway_otel_spans_dropped_total: {
    type: "counter",
    of: "cell",
    help: "Spans that were not exported, because too many waited (full) or the collector did not take them (failed).",
    labels: { reason: ["full", "failed"] },
  },
  gateway_build_info: {
    type: "gauge",
    of: "cell",
    help: "1 for the version that each cell runs, and without a cell for that of the control service.",
    labels: { version: "one of each part" },
  },
} as const satisfies Record<string, Metric>;

/** Reported by the control service; apart, so that the Worker does not carry them. */
const CONTROL_METRICS = {
  gateway_cell_up: { type: "gauge", of: "control", help: "1 when the cell answered this scrape." },
  gateway_outbox_pending: {
    type: "gauge",
    of: "control",
    help: "Configuration changes that wait for the key-value store or a cell; NaN while the database does not answer.",
  },
  gateway_model_replicas: {
    type: "gauge",
    of: "control",
    help: "Replicas of managed models, by state.",
    labels: {
      state: [
        "pending",
        "starting",
        "healthy",
        "draining",
        "lost",
      ] satisfies readonly (typeof REPLICA_STATES)[number][],
    },
  },
  gateway_provision_errors: {
    type: "gauge",
    of: "control",
    help: "Managed models of which a replica could not be started.",
  },
  gateway_provisioner_held: {
    type: "gauge",
    of: "control",
    help: "1 while the provisioner is enabled and no tick has succeeded for 10 minutes.",
  },
  gateway_provisioner_ticks_total: {
    type: "counter",
    of: "control",
    help: "Ticks of the provisioner that this replica heard of, by how they ended.",
    labels: { outcome: ["ok", "idle", "error"] },
  },
  gateway_provisioner_submits_total: {
    type: "counter",
    of: "control",
    help: "Jobs of the provisioner that the scheduler has accepted.",
  },
  gateway_provisioner_restarts_total: {
    type: "counter",
    of: "control",
    help: "Replicas whose job was cancelled because its probes failed.",
  },
  gateway_tls_expires_at: {
    type: "gauge",
    of: "control",
    help: "When the certificate at GATEWAY_TLS_ADDRESS ends, in seconds since 1970; no value without one.",
  },
  gateway_job_runs_total: {
    type: "counter",
    of: "control",
    help: "Runs of background jobs on this replica, by how they ended.",
    labels: { name: "the [background jobs](docs/watch.md#background-jobs)", outcome: ["ok", "failed"] },
  },
  gateway_backup_last_success_timestamp_seconds: {
    type: "gauge",
    of: "control",
    help: "When the last scheduled backup was stored and read back; 0: never.",
  },
  gateway_backup_interval_seconds: {
    type: "gauge",
    of: "control",
    help: "How often a backup is scheduled; 0: none is.",
  },
} as const satisfies Record<string, Metric>;

const both = () => ({ ...CELL_METRICS, ...CONTROL_METRICS }) as const;

export const METRICS = /* @__PURE__ */ both();

export type CellMetricName = keyof typeof CELL_METRICS;
export type MetricName = keyof typeof METRICS;

/** A metric of a cell with its samples. */
export function familyOf<Samples>(name: CellMetricName, samples: Samples) {
  const { type, help } = CELL_METRICS[name];
  return { name, help, type, samples };
}

/** A metric of one sample without labels. */
export function singleSample(name: CellMetricName, value: number) {
  return familyOf(name, [{ suffix: "" as const, labels: {}, value }]);
}

/** By name of the label: its closed list of values, or in words what they are. */
export function labelsOf(metric: Metric): NonNullable<Metric["labels"]> {
  return metric.labels ?? {};
}

type LabelOf<Name extends MetricName> = (typeof METRICS)[Name] extends { readonly labels: infer Labels }
  ? keyof Labels & string
  : string;

/** What the library of the control service is told of a metric. */
export function metricOptions<Name extends MetricName>(
  name: Name,
): { readonly name: Name; readonly help: string; readonly labelNames: LabelOf<Name>[] } {
  return { name, help: METRICS[name].help, labelNames: Object.keys(labelsOf(METRICS[name])) as LabelOf<Name>[] };
}
