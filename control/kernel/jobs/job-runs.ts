/**
 * Reports each run of a background job: one line of the log, and a count in the metrics. A run of a frequent job that found
 * nothing to do is logged at level `debug` only, so that a line at `info` means that something was done, failed, or runs
 * seldom; so is one that failed because of a store whose own line tells it.
 */
import type { Logger } from "pino";
import { Counter } from "prom-client";
import { metricOptions } from "../../../shared/catalogues/metrics.ts";
import { rootCause } from "../../../shared/text/root-cause.ts";
import { failureLevel } from "../store-watch.ts";

/** A job that runs less often than this is reported at `info` every time. */
const OFTEN_MS = 60_000;

/** The name of a job, and how long it waits from the end of a run to the next. */
export interface JobIdentity {
  readonly name: string;
  readonly everyMs: number;
}

/** How a run ended. */
type JobEnd =
  | { readonly outcome: "ok"; readonly durationMs: number; readonly result: unknown }
  | { readonly outcome: "failed"; readonly durationMs: number; readonly error: unknown };

interface JobRunsOptions {
  /** The name under which this replica holds leases. */
  readonly replica: string;
  readonly log: Logger;
}

export class JobRuns {
  readonly #options: JobRunsOptions;
  /**
   * Runs by name of the job (`job` is a label that Prometheus uses itself) and outcome; it belongs to no registry until it
   * is registered.
   */
  readonly counter = new Counter({
    ...metricOptions("gateway_job_runs_total"),
    registers: [],
  });

  constructor(options: JobRunsOptions) {
    this.#options = options;
  }

  /** Shows a job with 0 from the start (docs/rules/metrics.md#counting). */
  declare({ name }: JobIdentity): void {
    for (const outcome of ["ok", "failed"] as const) this.counter.inc({ name, outcome }, 0);
  }

  /** Reports a run that has ended. */
  report({ name, everyMs }: JobIdentity, end: JobEnd): void {
    const { replica, log } = this.#options;
    const { outcome, durationMs } = end;
    this.counter.inc({ name, outcome });
    const line = { event: "job_run", job: name, replica, outcome, duration_ms: Math.round(durationMs) };
    if (end.outcome === "failed") {
      log[failureLevel(end.error)]({ ...line, reason: rootCause(end.error) });
      return;
    }
    const counts = countsOf(end.result);
    const idle = everyMs < OFTEN_MS && Object.values(counts).every((count) => count === 0);
    log[idle ? "debug" : "info"]({ ...line, ...counts });
  }
}

/** The numbers in the result of a run, by their names; a single number is `count`. */
function countsOf(result: unknown): Readonly<Record<string, number>> {
  if (typeof result === "number") return { count: result };
  if (typeof result !== "object" || result === null) return {};
  return Object.fromEntries(
    Object.entries(result).filter((entry): entry is [string, number] => typeof entry[1] === "number"),
  );
}
