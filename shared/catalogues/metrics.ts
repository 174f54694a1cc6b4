/**
 * Every metric that the gateway exports (docs/reference/metrics.md): its kind, its help text, its labels and their values. Labels are few and
 * closed, with no tenant, key or model among them: what a client makes up is never a label.
 */

import { CAPACITY_REASONS } from "../fields/model-fields.ts";
import type { REPLICA_STATES } from "../fields/model-replica-fields.ts";
import { INPUT_SCANNERS, OUTPUT_SCANNERS } from "../fields/tenant-fields.ts";
import { ADMISSION_CLASSES } from "../usage/usage-values.ts";

interface Metric {
  readonly type: "counter" | "gauge" | "histogram";
  /** The source that reports it. Each sample of a cell also has the cell's name as the label `cell`. */
  readonly of: "cell" | "control";
  readonly help: string;
  /** By name of the label: its closed list of values, or a description of them. */
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
    help: "Completed requests, refusals included, by admission and status class; 499 counts as 4xx.",
    labels: { admission: ADMISSION_CLASSES, status: STATUS_CLASSES },
  },
  gateway_input_tokens_total: { type: "counter", of: "cell", help: "Input tokens of completed requests." },
  gateway_output_tokens_total: { type: "counter", of: "cell", help: "Output tokens of completed requests." },
  gateway_ttft_ms: {
    type: "histogram",
    of: "cell",
    help: "Milliseconds from sending a request upstream to its first response byte, for successful responses.",
    bounds: [5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000],
  },
  gateway_total_ms: {
    type: "histogram",
    of: "cell",
    help: "Milliseconds from a request's arrival to the last byte of its response, refusals excluded.",
    bounds: [10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 30000],
  },
  gateway_in_flight: { type: "gauge", of: "cell", help: "Requests in flight: each holds a slot." },
  gateway_batch_in_flight: { type: "gauge", of: "cell", help: "Slots that lines of batches hold." },
  gateway_queue_depth: { type: "gauge", of: "cell", help: "Requests waiting for a slot." },
  gateway_upstream_attempts_total: {
    type: "counter",
    of: "cell",
    help: "Upstream attempts by outcome. retry: another attempt at the same endpoint; failover: a move to the next one, or to another model; exhausted: no endpoint of a model answered the request.",
    labels: { outcome: ["success", "retry", "timeout", "failover", "exhausted"] },
  },
  gateway_adaptive_capacity_changes_total: {
    type: "counter",
    of: "cell",
    help: "Changes of the capacity of models in the mode adaptive, by reason.",
    labels: { reason: CAPACITY_REASONS },
  },
  gateway_cache_lookups_total: {
    type: "counter",
    of: "cell",
    help: "Lookups in the response cache, by result.",
    labels: { result: ["hit", "miss"] },
  },
  gateway_cache_tokens_saved_total: {
    type: "counter",
    of: "cell",
    help: "Tokens of responses served from the response cache.",
  },
  gateway_compression_tokens_saved_total: {
    type: "counter",
    of: "cell",
    help: "Tokens that compression removed from requests.",
  },
  gateway_boon_runs_total: {
    type: "counter",
    of: "cell",
    help: "Runs of boons (model add-ons) and guardrails scanners. hit: it changed, refused or chose something; none: it had nothing to do; failed: it could not run.",
    labels: { boon: COUNTED_BOONS, outcome: ["hit", "none", "failed"] },
  },
  gateway_boon_seconds_total: {
    type: "counter",
    of: "cell",
    help: "Seconds that requests waited for boons (model add-ons) and guardrails scanners. Not CPU time.",
    labels: { boon: COUNTED_BOONS },
  },
  gateway_mcp_requests_total: {
    type: "counter",
    of: "cell",
    help: "Requests to MCP servers.",
    labels: { server: "the registered MCP servers, and `unknown` for any other", status: STATUS_CLASSES },
  },
  gateway_budget_unchecked_total: {
    type: "counter",
    of: "cell",
    help: "Requests admitted without a budget check since the cell started.",
  },
  gateway_spill_bytes: { type: "gauge", of: "cell", help: "Bytes of usage rows waiting for ClickHouse." },
  gateway_telemetry_dropped: {
    type: "gauge",
    of: "cell",
    help: "Usage rows lost because the Ledger was full or did not answer.",
  },
  gateway_telemetry_aside: {
    type: "gauge",
    of: "cell",
    help: "Usage rows that ClickHouse rejects, kept as dead letters.",
  },
  gateway_jwt_verify_total: {
    type: "counter",
    of: "cell",
    help: "Verifications of identity tokens, by result.",
    labels: { result: ["ok", "invalid", "expired", "unknown_kid"] },
  },
  gateway_jwks_refresh_total: {
    type: "counter",
    of: "cell",
    help: "Fetches of identity providers' key sets, by result.",
    labels: { issuer_index: "the entries of `GATEWAY_JWT_ISSUERS`, from 0", result: ["ok", "error"] },
  },
  gateway_auth_failures_total: {
    type: "counter",
    of: "cell",
    help: "Calls with a wrong admin or internal token, to a cell (data) or the control service (admin).",
    labels: { plane: ["data", "admin"] },
  },
  gateway_otel_spans_dropped_total: {
    type: "counter",
    of: "cell",
    help: "Spans not exported because too many were waiting (full) or the collector did not accept them (failed).",
    labels: { reason: ["full", "failed"] },
  },
  gateway_captures_total: {
    type: "counter",
    of: "cell",
    help: "Calls of tenants whose capture is on. dropped: too many at once, the store did not take it, or capture was turned off meanwhile.",
    labels: { outcome: ["kept", "dropped"] },
  },
  gateway_build_info: {
    type: "gauge",
    of: "cell",
    help: "Always 1; the label version is the version of a cell, or of the control service if there is no label cell.",
    labels: { version: "the version of each part" },
  },
} as const satisfies Record<string, Metric>;

/** Reported by the control service; apart, so that the Worker does not carry them. */
const CONTROL_METRICS = {
  gateway_cell_up: { type: "gauge", of: "control", help: "1 if the cell answered this scrape, otherwise 0." },
  gateway_outbox_pending: {
    type: "gauge",
    of: "control",
    help: "Configuration changes not yet delivered to the key-value store and every cell; NaN while the database does not answer.",
  },
  gateway_outbox_oldest_seconds: {
    type: "gauge",
    of: "control",
    help: "Age of the oldest configuration change not yet delivered, 0 if there is none; NaN while the database does not answer.",
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
    help: "Managed models with a replica that could not be started.",
  },
  gateway_provisioner_held: {
    type: "gauge",
    of: "control",
    help: "1 while the provisioner is enabled and has had no successful tick for `GATEWAY_PROVISIONER_HELD_AFTER_SECS`.",
  },
  gateway_provisioner_ticks_total: {
    type: "counter",
    of: "control",
    help: "Provisioner ticks that were reported to this control service replica, by outcome.",
    labels: { outcome: ["ok", "idle", "error"] },
  },
  gateway_provisioner_submits_total: {
    type: "counter",
    of: "control",
    help: "Jobs submitted by the provisioner and accepted by the scheduler.",
  },
  gateway_provisioner_restarts_total: {
    type: "counter",
    of: "control",
    help: "Replicas whose job was cancelled because their probes failed.",
  },
  gateway_tls_expires_at: {
    type: "gauge",
    of: "control",
    help: "When the certificate at GATEWAY_TLS_ADDRESS expires, as a Unix timestamp; absent without a certificate.",
  },
  gateway_disk_free_bytes: {
    type: "gauge",
    of: "control",
    help: "Free bytes on the disk of the data folder, and of the objects' folder if that is another one (GATEWAY_WAL_PATH), on the machine of this control service.",
    labels: { folder: ["data", "objects"] },
  },
  gateway_disk_size_bytes: {
    type: "gauge",
    of: "control",
    help: "Size of these disks in bytes.",
    labels: { folder: ["data", "objects"] },
  },
  gateway_job_runs_total: {
    type: "counter",
    of: "control",
    help: "Background job runs on this replica, by outcome.",
    labels: { name: "the [background jobs](docs/watch.md#background-jobs)", outcome: ["ok", "failed"] },
  },
  gateway_backup_last_success_timestamp_seconds: {
    type: "gauge",
    of: "control",
    help: "When the last scheduled backup was stored and read back, as a Unix timestamp; 0: never.",
  },
  gateway_batch_lines: {
    type: "gauge",
    of: "control",
    help: "Lines of batches that wait for a slot, and that were sent and have not ended.",
    labels: { state: ["waiting", "sent"] },
  },
  gateway_backup_interval_seconds: {
    type: "gauge",
    of: "control",
    help: "Interval between scheduled backups; 0: none is scheduled.",
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

/** By name of the label: its closed list of values, or a description of them. */
export function labelsOf(metric: Metric): NonNullable<Metric["labels"]> {
  return metric.labels ?? {};
}

type LabelOf<Name extends MetricName> = (typeof METRICS)[Name] extends { readonly labels: infer Labels }
  ? keyof Labels & string
  : string;

/** The definition of a metric for the library of the control service. */
export function metricOptions<Name extends MetricName>(
  name: Name,
): { readonly name: Name; readonly help: string; readonly labelNames: LabelOf<Name>[] } {
  return { name, help: METRICS[name].help, labelNames: Object.keys(labelsOf(METRICS[name])) as LabelOf<Name>[] };
}
