/**
 * The panels of the dashboard, in its order. Every metric of the catalogue must be in one of them or in a rule of alerts.yml
 * (grafana.test.ts). An id stays with its panel: links to a panel and alerts made in Grafana name it.
 */
import type { Section } from "./dashboard.ts";
import { average, count, each, quantile, sum, sumBy } from "./promql.ts";

const RUNS = "gateway_boon_runs_total";

export const SECTIONS: readonly Section[] = [
  {
    id: 1,
    title: "At a glance",
    panels: [
      {
        id: 2,
        title: "Cells up",
        description: "Configured cells that answer a control service.",
        unit: "none",
        steps: { green: null },
        hasCurve: false,
        targets: { up: sum("gateway_cell_up"), configured: count("gateway_cell_up") },
      },
      {
        id: 3,
        title: "Requests",
        description: "Completed requests per second, refusals included.",
        unit: "reqps",
        steps: { blue: null },
        targets: { "": sum("gateway_requests_total") },
      },
      {
        id: 4,
        title: "Failed",
        description: "Share of requests that ended with a status of 5xx.",
        unit: "percentunit",
        steps: { green: null, orange: 0.01, red: 0.05 },
        targets: { "": `${sum("gateway_requests_total", { status: "5xx" })} / ${sum("gateway_requests_total")}` },
      },
      {
        id: 5,
        title: "First token, p95",
        description: "Time from sending a request upstream to its first response byte. 95 of 100 requests are faster.",
        unit: "ms",
        steps: { green: null, orange: 2500, red: 5000 },
        targets: { "": quantile(0.95, "gateway_ttft_ms") },
      },
      {
        id: 6,
        title: "Usage rows lost",
        description: "Usage rows that reached neither the analytics store nor the spill log. No report has them.",
        unit: "short",
        steps: { green: null, red: 1 },
        targets: { "": sum("gateway_telemetry_dropped") },
      },
      {
        id: 7,
        title: "Undelivered changes",
        description: "Configuration changes not yet delivered to the key-value store or a cell.",
        unit: "short",
        steps: { green: null, orange: 1 },
        targets: { "": each("gateway_outbox_pending") },
      },
    ],
  },
  {
    id: 8,
    title: "Traffic",
    panels: [
      {
        id: 9,
        title: "Requests by status",
        description: "Completed requests by status class. 499 (the client disconnected) counts as 4xx.",
        unit: "reqps",
        isStacked: true,
        targets: { "{{status}}": sumBy(["status"], "gateway_requests_total") },
      },
      {
        id: 10,
        title: "Requests by admission",
        description:
          "fast: at once; queued: after a wait; batch: lines of batches; rejected: refused; boon: sub-calls.",
        unit: "reqps",
        isStacked: true,
        targets: { "{{admission}}": sumBy(["admission"], "gateway_requests_total") },
      },
      {
        id: 49,
        title: "Changes of adaptive capacity",
        description: "Per second, by reason. Models in the mode adaptive.",
        unit: "short",
        targets: { "{{reason}}": sumBy(["reason"], "gateway_adaptive_capacity_changes_total") },
      },
      {
        id: 11,
        title: "Tokens",
        description: "Tokens of completed requests per second.",
        unit: "cps",
        targets: { input: sum("gateway_input_tokens_total"), output: sum("gateway_output_tokens_total") },
      },
    ],
  },
  {
    id: 12,
    title: "Latency",
    panels: [
      {
        id: 13,
        title: "Time to first token",
        description: "For answered requests, from sending upstream to the first byte. The histogram ends at 5 s.",
        unit: "ms",
        targets: {
          p50: quantile(0.5, "gateway_ttft_ms"),
          p95: quantile(0.95, "gateway_ttft_ms"),
          p99: quantile(0.99, "gateway_ttft_ms"),
          average: average("gateway_ttft_ms"),
        },
      },
      {
        id: 14,
        title: "Total time",
        description: "From a request's arrival to its last response byte, queue included. The histogram ends at 30 s.",
        unit: "ms",
        targets: {
          p50: quantile(0.5, "gateway_total_ms"),
          p95: quantile(0.95, "gateway_total_ms"),
          p99: quantile(0.99, "gateway_total_ms"),
          average: average("gateway_total_ms"),
        },
      },
    ],
  },
  {
    id: 15,
    title: "Capacity and budgets",
    panels: [
      {
        id: 16,
        title: "Requests in flight",
        description: "Per cell. A single tenant stays below the capacity by GATEWAY_CELL_HEADROOM.",
        unit: "short",
        targets: { "{{cell}}": each("gateway_in_flight") },
      },
      {
        id: 17,
        title: "Waiting requests",
        description: "Per cell. If the queue never empties, demand exceeds capacity.",
        unit: "short",
        targets: { "{{cell}}": each("gateway_queue_depth") },
      },
      {
        id: 48,
        title: "Lines of batches",
        description: "waiting: until a slot is idle; sent: to a cell; slots: what they hold there.",
        unit: "short",
        targets: { "{{state}}": sumBy(["state"], "gateway_batch_lines"), slots: sum("gateway_batch_in_flight") },
      },
      {
        id: 18,
        title: "Requests without a budget check",
        description: "Requests per second that were served without a budget check, because budgets did not answer.",
        unit: "reqps",
        targets: { "{{cell}}": each("gateway_budget_unchecked_total") },
      },
    ],
  },
  {
    id: 19,
    title: "Upstreams",
    panels: [
      {
        id: 20,
        title: "Attempts by outcome",
        description:
          "success: a response; retry: another attempt at the same endpoint; failover: at the next one; timeout: given up; exhausted: no endpoint answered.",
        unit: "cps",
        targets: { "{{outcome}}": sumBy(["outcome"], "gateway_upstream_attempts_total") },
      },
      {
        id: 21,
        title: "Failed MCP requests",
        description: "By server: requests per second that got 4xx or 5xx.",
        unit: "reqps",
        targets: {
          "{{server}} {{status}}": sumBy(["server", "status"], "gateway_mcp_requests_total", {
            status: ["4xx", "5xx"],
          }),
        },
      },
    ],
  },
  {
    id: 22,
    title: "Savings",
    panels: [
      {
        id: 23,
        title: "Response cache: hits",
        description: "Share of lookups that found a response.",
        unit: "percentunit",
        max: 1,
        targets: {
          hits: `${sum("gateway_cache_lookups_total", { result: "hit" })} / ${sum("gateway_cache_lookups_total")}`,
        },
      },
      {
        id: 24,
        title: "Tokens saved",
        description:
          "Tokens per second that no upstream had to process: answered from the cache or removed by compression.",
        unit: "cps",
        targets: {
          cache: sum("gateway_cache_tokens_saved_total"),
          compression: sum("gateway_compression_tokens_saved_total"),
        },
      },
      {
        id: 25,
        title: "MCP requests",
        description: "Requests per second, by server.",
        unit: "reqps",
        targets: { "{{server}}": sumBy(["server"], "gateway_mcp_requests_total") },
      },
    ],
  },
  {
    id: 39,
    title: "Boons and guardrails",
    panels: [
      {
        id: 40,
        title: "Boon runs with an effect",
        description: "Runs per second that changed, refused or chose something.",
        unit: "reqps",
        targets: { "{{boon}}": sumBy(["boon"], RUNS, { outcome: "hit" }) },
      },
      {
        id: 41,
        title: "Failed boon runs",
        description:
          "Runs per second that failed. The requests continued without them, unless a guardrails policy fails closed.",
        unit: "reqps",
        targets: { "{{boon}}": sumBy(["boon"], RUNS, { outcome: "failed" }) },
      },
      {
        id: 42,
        title: "Time per boon run",
        description: "Average time of a run, which is mostly calls it waits for. The request waits too.",
        unit: "s",
        targets: { "{{boon}}": `${sumBy(["boon"], "gateway_boon_seconds_total")} / ${sumBy(["boon"], RUNS)}` },
      },
    ],
  },
  {
    id: 26,
    title: "Usage rows and configuration",
    panels: [
      {
        id: 27,
        title: "Waiting for the analytics store",
        description: "Bytes of usage rows in the spill log. At 256 MiB per cell, new rows are lost.",
        unit: "bytes",
        targets: { "{{cell}}": each("gateway_spill_bytes") },
      },
      {
        id: 28,
        title: "Usage rows lost or rejected",
        description:
          "Lost: the spill log was full. Rejected: the analytics store rejects their content; they are kept as dead letters.",
        unit: "short",
        targets: {
          "lost {{cell}}": each("gateway_telemetry_dropped"),
          "kept aside {{cell}}": each("gateway_telemetry_aside"),
        },
      },
      {
        id: 29,
        title: "Pending configuration changes",
        description:
          "Configuration changes not yet delivered to the key-value store or a cell, and the age of the oldest in seconds. A gap: the database does not answer.",
        unit: "short",
        targets: { changes: each("gateway_outbox_pending"), seconds: each("gateway_outbox_oldest_seconds") },
      },
    ],
  },
  {
    id: 30,
    title: "Identity and traces",
    panels: [
      {
        id: 31,
        title: "Identity tokens",
        description: "Verifications per second, by result.",
        unit: "cps",
        targets: { "{{result}}": sumBy(["result"], "gateway_jwt_verify_total") },
      },
      {
        id: 32,
        title: "Key sets of identity providers",
        description: "Fetches per second, by provider and result.",
        unit: "cps",
        targets: {
          "{{issuer_index}} {{result}}": sumBy(["issuer_index", "result"], "gateway_jwks_refresh_total"),
        },
      },
      {
        id: 33,
        title: "Spans not exported, captures",
        description: "Per second. full: more than 2,048 spans were waiting; failed: the collector did not accept them.",
        unit: "cps",
        targets: {
          "{{reason}}": sumBy(["reason"], "gateway_otel_spans_dropped_total"),
          "captures {{outcome}}": sumBy(["outcome"], "gateway_captures_total"),
        },
      },
    ],
  },
  {
    id: 43,
    title: "Managed models",
    panels: [
      {
        id: 44,
        title: "Replicas by state",
        description: "Replicas of all managed models. lost: a job that should run has ended; another one replaces it.",
        unit: "short",
        targets: { "{{state}}": each("gateway_model_replicas", { job: "gateway" }) },
      },
      {
        id: 45,
        title: "Provisioner: ticks and jobs",
        description: "Per second: ticks by outcome, submitted jobs, and jobs cancelled because their probes failed.",
        unit: "cps",
        targets: {
          "tick {{outcome}}": sumBy(["outcome"], "gateway_provisioner_ticks_total"),
          submitted: sum("gateway_provisioner_submits_total"),
          restarted: sum("gateway_provisioner_restarts_total"),
        },
      },
      {
        id: 46,
        title: "Provisioner: needs attention",
        description: "Models whose replicas cannot be started, and 1 while no tick has succeeded for 10 minutes.",
        unit: "short",
        targets: {
          "models that cannot start": each("gateway_provision_errors", { job: "gateway" }),
          held: each("gateway_provisioner_held", { job: "gateway" }),
        },
      },
    ],
  },
  {
    id: 34,
    title: "Control service",
    panels: [
      {
        id: 35,
        title: "CPU",
        description: "Seconds of CPU time per second.",
        unit: "none",
        targets: { "{{instance}}": 'rate(process_cpu_seconds_total{job="gateway"}[$__rate_interval])' },
      },
      {
        id: 36,
        title: "Memory",
        description: "Resident memory of the process.",
        unit: "bytes",
        targets: {
          "{{instance}} resident": 'process_resident_memory_bytes{job="gateway"}',
          "{{instance}} heap": 'nodejs_heap_size_used_bytes{job="gateway"}',
        },
      },
      {
        id: 47,
        title: "Disk",
        description: "Free room on the disks of the data folder and of the objects.",
        unit: "bytes",
        targets: {
          "{{instance}} {{folder}} free": 'gateway_disk_free_bytes{job="gateway"}',
          "{{instance}} {{folder}} size": 'gateway_disk_size_bytes{job="gateway"}',
        },
      },
      {
        id: 37,
        title: "Event loop",
        description: "p99 delay of an event loop turn.",
        unit: "s",
        targets: { "{{instance}}": 'nodejs_eventloop_lag_p99_seconds{job="gateway"}' },
      },
      {
        id: 38,
        title: "Failed background jobs",
        description: "Runs per second that ended with an error, by job. The log line job_run has the reason.",
        unit: "cps",
        isWide: true,
        targets: { "{{name}}": sumBy(["name"], "gateway_job_runs_total", { outcome: "failed" }) },
      },
    ],
  },
];
