/**
 * What is told of each run of a background job: one line of the log, and a count in the metrics. A job that looks every few
 * seconds and finds nothing to do is a line for `debug` only: at the level that is written, a line means that something was
 * done, failed, or runs seldom. Never holds more of an error than its name: messages quote statements and addresses.
 */
import type { Logger } from "pino";
import { Counter } from "prom-client";

/** Jobs that run less often are told of each time. */
const OFTEN_MS = 60_000;

/** What is told of a job: its name, and how long it waits from the end of a run to the next. */
export interface JobIdentity {
  readonly name: string;
  readonly everyMs: number;
}

/** How a run ended. */
type JobEnd =
  | { readonly outcome: "ok"; readonly durationMs: number; readonly result: unknown }
  | { readonly outcome: "failed"; readonly durationMs: number; readonly error: unknown };

interface JobRunsOptions {
  /** The name by which this replica holds leases. */
  readonly replica: string;
  readonly log: Logger;
}

export class JobRuns {
  readonly #options: JobRunsOptions;
  /** Runs by name of the job (`job` is a label of Prometheus' own) and outcome; belongs to no registry until it is put into one. */
  readonly counter = new Counter({
    name: "gateway_job_runs_total",
    help: "Runs of background jobs on this replica, by how they ended.",
    labelNames: ["name", "outcome"] as const,
    registers: [],
  });

  constructor(options: JobRunsOptions) {
    this.#options = options;
  }

  /** Shows a job with 0 from the start (decisions §37). */
  declare({ name }: JobIdentity): void {
    for (const outcome of ["ok", "failed"] as const) this.counter.inc({ name, outcome }, 0);
  }

  /** Tells of a run that has ended. */
  report({ name, everyMs }: JobIdentity, end: JobEnd): void {
    const { replica, log } = this.#options;
    const { outcome, durationMs } = end;
    this.counter.inc({ name, outcome });
    const line = { event: "job_run", job: name, replica, outcome, duration_ms: Math.round(durationMs) };
    if (end.outcome === "failed") {
      log.warn({ ...line, error: end.error instanceof Error ? end.error.name : "unknown" });
      return;
    }
    const counts = countsOf(end.result);
    const idle = everyMs < OFTEN_MS && Object.values(counts).every((count) => count === 0);
    log[idle ? "debug" : "info"]({ ...line, ...counts });
  }
}

/** The numbers that a run answered, by their names; a single one is `count`. */
function countsOf(result: unknown): Readonly<Record<string, number>> {
  if (typeof result === "number") return { count: result };
  if (typeof result !== "object" || result === null) return {};
  return Object.fromEntries(
    Object.entries(result).filter((entry): entry is [string, number] => typeof entry[1] === "number"),
  );
}
