/**
 * What a million requests cost in a gateway that runs all day at one rate (docs/platform-costs.md#by-duration). The counts of one run
 * cannot say that: the load generator sends as fast as it can, and a run ends before anything is deleted. Here every count is the
 * sum of what the code does for each request and at its own intervals. Pure.
 */
import { LEASE_MAX_MS } from "../../../edge/domain/budget/messages/rpc.ts";
import { SAMPLE_EVERY_MS } from "../../../edge/domain/cell/history.ts";
import { GROUP_COMMIT_MS } from "../../../edge/domain/ledger/group-commit.ts";
import { markdownTable } from "../../harness/text-table.ts";
import { PRICES } from "./cost.ts";

/** Numbers of the code, by the file and the name that they have there; a test compares them. */
export const OF_THE_CODE = {
  LINGER_MS: { file: "edge/objects/ledger/ledger.ts", value: 250 },
  MARGIN_MS: { file: "edge/domain/budget/spender/lease-pool.ts", value: 250 },
  RENEW_AHEAD_MS: { file: "edge/domain/budget/spender/lease-pool.ts", value: 2_000 },
  NEWS_MS: { file: "edge/objects/cell/members.ts", value: 50 },
  BEAT_MS: { file: "edge/adapters/objects/session-holder.ts", value: 100 },
  IDLE_BEATS: { file: "edge/adapters/objects/session-holder.ts", value: 3 },
  SUCCEEDED_AFTER_BEATS: { file: "edge/adapters/objects/session-holder.ts", value: 40 },
  SUCCEEDED_AFTER_CALLS: { file: "edge/adapters/objects/session-holder.ts", value: 500 },
  LOOK_EVERY_MS: { file: "edge/pipeline/authenticate/watch-caller.ts", value: 1_000 },
  SAMPLES_PER_REPORT: { file: "edge/objects/cell/heartbeat.ts", value: 5 },
} as const;

/** From tables of docs/benchmarks.md: 32 at once of 100 tenants, and 1,000 streams of 256 chunks. CPU time of the whole runtime. */
const MEASURED = { requestCpuMs: 0.54, streamCpuMs: 9.19, streamChunks: 256 };

/** Copies of records in an isolate are read again after this time (docs/rules/freshness.md#isolate-copies). */
const FRESH_SECS = 300;
/** How often the control service fetches alerts (docs/watch.md#background-jobs), and Prometheus metrics (infra/grafana). */
const [ALERTS_EVERY_SECS, SCRAPE_EVERY_SECS] = [3, 15];
/** A model writes so many chunks a second. */
const CHUNKS_PER_SEC = 50;
/** Answers of at most this length are sent whole. */
const WHOLE_SECS = 1;
const LOG_KEPT_DAYS = 7;

/** A gateway with one cell, whose budgets are far from their limits, with one model and a key for each tenant. */
interface Load {
  readonly requestsPerSec: number;
  /** How long a request lasts. */
  readonly secs: number;
  /** Tenants that send requests, all equally many. */
  readonly tenants: number;
  /** Isolates of the Worker; the platform decides how many. */
  readonly isolates: number;
}

/** What a second of the load has of everything that is billed. */
export function secondOf({ requestsPerSec, secs, tenants, isolates }: Load) {
  const at = (name: keyof typeof OF_THE_CODE): number => OF_THE_CODE[name].value;
  const perSec = (ms: number): number => 1000 / ms;

  // A request and its end are a message each; reports that rows are stored wait for one another.
  const perIsolate = requestsPerSec / isolates;
  const messages = 2 * perIsolate + Math.min(perIsolate, perSec(at("NEWS_MS")));
  const holdsSecs = secs + (at("SUCCEEDED_AFTER_BEATS") * at("BEAT_MS")) / 1000;
  const successors = Math.max(1 / holdsSecs, messages / at("SUCCEEDED_AFTER_CALLS"));
  // An isolate that has had nothing to do for a while closes its session (requests come at random times).
  const restSecs = secs + (at("IDLE_BEATS") * at("BEAT_MS")) / 1000;
  const afterRest = perIsolate * Math.exp(-perIsolate * restSecs);
  const sessions = Math.min(isolates * (afterRest + successors), requestsPerSec);

  // Every second look an isolate asks whether a caller was revoked, while it runs a request that is older than a look.
  const lookSecs = at("LOOK_EVERY_MS") / 1000;
  const looks = (isolates / (2 * lookSecs)) * (1 - Math.exp(-perIsolate * Math.max(0, secs - lookSecs)));

  const batches = 1 / (GROUP_COMMIT_MS / 1000 + 1 / requestsPerSec);
  const shipments = Math.min(requestsPerSec, perSec(at("LINGER_MS")));

  // Of each tenant: a lease, and a report between two leases; a checkpoint after each of them.
  const leaseMs = LEASE_MAX_MS - at("MARGIN_MS") - at("RENEW_AHEAD_MS");
  const leases = Math.min(tenants * perSec(leaseMs), requestsPerSec);
  const budgetCalls = 2 * leases;

  const saves = perSec(SAMPLE_EVERY_MS * at("SAMPLES_PER_REPORT"));
  const scrapes = 1 / SCRAPE_EVERY_SECS;
  const controlCalls = 1 / ALERTS_EVERY_SECS + scrapes;
  const chunks = secs <= WHOLE_SECS ? 0 : secs * CHUNKS_PER_SEC;
  const chunkCpuMs = (MEASURED.streamCpuMs - MEASURED.requestCpuMs) / MEASURED.streamChunks;
  return {
    workerRequests: requestsPerSec + controlCalls,
    cpuMs: requestsPerSec * (MEASURED.requestCpuMs + chunks * chunkCpuMs),
    // scrapes ask the Cell and, twice, the Ledger
    objectCalls: sessions + looks + batches + budgetCalls + controlCalls + 2 * scrapes,
    alarms: shipments + budgetCalls,
    // a shipment opens a segment, marks another as shipped, and sets the alarm at most twice; a checkpoint is three rows and two
    // alarms; the Cell saves each minute its history, and which isolates have requests
    rowsInserted: batches + 4 * shipments + leases + 5 * budgetCalls + 1 / 60 + Math.min(0.5, requestsPerSec),
    // two minutes later a batch is deleted, and for each segment its mark, when its last sequence has been written
    rowsDeleted: batches + 2 * shipments,
    logLines: requestsPerSec,
    keyValueCommands: (isolates * (tenants + 2)) / FRESH_SECS + saves,
    /** The Cell has timers and sessions all the time. */
    objectsAwake: 1,
    /** If the platform bills the Ledger and the tenants' budgets between calls too. */
    objectsAtMost: 2 + tenants,
  };
}

/** USD of a million requests. `lineBytes`: the length of a log line. */
function costOfLoad(load: Load, lineBytes: number) {
  const second = secondOf(load);
  const each = (count: number): number => count / load.requestsPerSec;
  const awake = (objects: number): number => each(objects) * PRICES.gbPerObject * PRICES.objectGbSecondsPerMillion;
  const logGb = (each(second.logLines) * lineBytes) / 1000;
  const gbUsd = PRICES.logGb + (PRICES.logGbMonth * LOG_KEPT_DAYS) / 30;
  const parts = {
    requestsUsd: each(second.workerRequests) * PRICES.requestsPerMillion,
    cpuUsd: each(second.cpuMs) * PRICES.cpuMsPerMillion,
    objectRequestsUsd: each(second.objectCalls + second.alarms) * PRICES.objectRequestsPerMillion,
    rowsWrittenUsd: each(second.rowsInserted + second.rowsDeleted) * PRICES.rowsWrittenPerMillion,
    awakeUsd: awake(second.objectsAwake),
    logsUsd: logGb * gbUsd,
    keyValueUsd: each(second.keyValueCommands) * PRICES.keyValueCommandsPerMillion,
  };
  const totalUsd = Object.values(parts).reduce((sum, usd) => sum + usd, 0);
  const atMostUsd = totalUsd + awake(second.objectsAtMost - second.objectsAwake);
  return { ...parts, totalUsd, atMostUsd };
}

const BUSY: Omit<Load, "secs" | "tenants"> = { requestsPerSec: 100, isolates: 10 };
const TENANTS = [1, 60];
const SECS = [0.3, 3, 30];
const BY_DURATION = SECS.flatMap((secs) => TENANTS.map((tenants) => ({ ...BUSY, secs, tenants })));
const BY_RATE = [10, 100, 1000].flatMap((requestsPerSec) =>
  TENANTS.map((tenants) => ({ ...BUSY, secs: 3, tenants, requestsPerSec })),
);

const COUNT_HEADS = ["object calls", "alarms", "rows inserted", "rows deleted", "key-value commands", "CPU ms"];
const COST_HEADS = ["requests", "CPU", "calls, alarms", "rows", "Cell awake", "logs", "key-value", "total", "at most"];

const usd = (value: number): string => value.toFixed(2);
const count = (value: number): string => value.toFixed(3);

/** The tables of docs/platform-costs.md, and the summary in README.md, by the comment below which they stand. */
export function modelledTables(lineBytes: number): Readonly<Record<"counts" | "costs" | "rates" | "summary", string>> {
  const costs = (load: Load): readonly string[] => Object.values(costOfLoad(load, lineBytes)).map(usd);
  const counts = (load: Load): readonly string[] => {
    const { objectCalls, alarms, rowsInserted, rowsDeleted, keyValueCommands, cpuMs } = secondOf(load);
    const all = [objectCalls, alarms, rowsInserted, rowsDeleted, keyValueCommands, cpuMs];
    return all.map((value) => count(value / load.requestsPerSec));
  };
  const durations = (row: (load: Load) => readonly string[]): readonly (readonly string[])[] =>
    BY_DURATION.map((load) => [`${load.secs} s`, String(load.tenants), ...row(load)]);
  const range = (load: Load): string => {
    const { totalUsd, atMostUsd } = costOfLoad(load, lineBytes);
    return `${usd(totalUsd)} to ${usd(atMostUsd)}`;
  };
  return {
    summary: markdownTable(
      ["a request of", ...TENANTS.map((tenants) => `${tenants} ${tenants === 1 ? "tenant" : "tenants"}`)],
      SECS.map((secs) => [`${secs} s`, ...TENANTS.map((tenants) => range({ ...BUSY, secs, tenants }))]),
    ),
    counts: markdownTable(["a request of", "tenants", ...COUNT_HEADS], durations(counts)),
    costs: markdownTable(["a request of", "tenants", ...COST_HEADS], durations(costs)),
    rates: markdownTable(
      ["requests a second", "tenants", ...COST_HEADS],
      BY_RATE.map((load) => [String(load.requestsPerSec), String(load.tenants), ...costs(load)]),
    ),
  };
}
