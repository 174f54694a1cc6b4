/**
 * The background jobs: each named, one turn at a time, the first one soon after the start. A failure is tried again within a
 * minute; of every run it is told (job-runs.ts). A job of one replica runs where its lease is (job-leases.ts); all end when the service does.
 */
import type { Leases } from "./job-leases.ts";
import type { JobIdentity, JobRuns } from "./job-runs.ts";

/** A job that runs every hour does not wait for one: stores and cells that start beside it are there by then. */
const FIRST_WITHIN_MS = 5000;
const AGAIN_WITHIN_MS = 60_000;
/** How often a replica without the lease looks whether it has it now. */
const LOOK_EVERY_MS = 500;

export interface Job extends JobIdentity {
  /** `one`: on the replica that holds its lease; `each`: what keeps state of a process. */
  readonly replicas: "one" | "each";
  /** Numbers of what it answers, a number or a record, are told as what was done. */
  readonly run: () => Promise<unknown>;
}

/** Starts jobs; the answer stops them and waits for what is running. */
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

/** Runs a job if it is this replica's to run; answers how long to wait until the next turn. */
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
