/**
 * The background jobs. Each has a name and runs once at a time, for the first time soon after the start. A failed run is
 * repeated within a minute, and every run is reported (job-runs.ts). A job that runs on one replica only runs where its
 * lease is (job-leases.ts). All jobs end with the service.
 */
import type { Leases } from "./job-leases.ts";
import type { JobIdentity, JobRuns } from "./job-runs.ts";

/**
 * The longest wait before the first run of a job that runs seldom; stores and cells that start at the same time are ready
 * by then.
 */
const FIRST_WITHIN_MS = 5000;
const AGAIN_WITHIN_MS = 60_000;
/** How often a replica without the lease checks whether it has it now. */
const LOOK_EVERY_MS = 500;

export interface Job extends JobIdentity {
  /** `one`: only on the replica that holds its lease; `each`: on every replica, for jobs that keep state of the process. */
  readonly replicas: "one" | "each";
  /** The numbers in its result, a number or a record, are reported as what was done. */
  readonly run: () => Promise<unknown>;
}

/** Starts the jobs; the returned function stops them and waits for runs that have begun. */
export function startJobs(jobs: readonly Job[], leases: Leases, runs: JobRuns): () => Promise<void> {
  for (const job of jobs) runs.declare(job);
  const stops = jobs.map((job) => startJob(job, leases, runs));
  return async () => {
    await Promise.all(stops.map(async (stop) => await stop()));
  };
}

function startJob(job: Job, leases: Leases, runs: JobRuns): () => Promise<void> {
  let stopped = false;
  let running: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout;
  const turn = async (): Promise<void> => {
    const waitMs = await nextAfter(job, leases, runs);
    if (!stopped) timer = schedule(waitMs);
  };
  const schedule = (waitMs: number): NodeJS.Timeout =>
    setTimeout(() => {
      running = turn();
    }, waitMs);
  timer = schedule(Math.min(job.everyMs, FIRST_WITHIN_MS));
  return async () => {
    stopped = true;
    clearTimeout(timer);
    await running;
  };
}

/** Runs a job if this replica may run it; returns how long to wait until the next run. */
async function nextAfter(job: Job, leases: Leases, runs: JobRuns): Promise<number> {
  if (job.replicas === "one" && !leases.holds(job.name)) return Math.min(job.everyMs, LOOK_EVERY_MS);
  const startedMs = performance.now();
  const spent = (): number => performance.now() - startedMs;
  try {
    const result = await job.run();
    runs.report(job, { outcome: "ok", durationMs: spent(), result });
    return job.everyMs;
  } catch (error) {
    runs.report(job, { outcome: "failed", durationMs: spent(), error });
    return Math.min(job.everyMs, AGAIN_WITHIN_MS);
  }
}
