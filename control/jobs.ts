/**
 * The background jobs: each named, one run at a time, a failure logged and tried again at the next turn. They end when
 * the service does.
 */
import type { Logger } from "pino";

export interface Job {
  readonly name: string;
  readonly everyMs: number;
  readonly run: () => Promise<unknown>;
}

/** Starts jobs; the answer stops them and waits for what is running. */
export function startJobs(jobs: readonly Job[], log: Logger): () => Promise<void> {
  const stops = jobs.map((job) => startJob(job, log));
  return async () => {
    await Promise.all(stops.map(async (stop) => await stop()));
  };
}

function startJob(job: Job, log: Logger): () => Promise<void> {
  let stopped = false;
  let running: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout;
  const turn = async (): Promise<void> => {
    try {
      await job.run();
    } catch (error) {
      log.warn({ event: "job_failed", job: job.name, reason: error instanceof Error ? error.name : "unknown" });
    }
    if (!stopped) timer = schedule();
  };
  const schedule = (): NodeJS.Timeout =>
    setTimeout(() => {
      running = turn();
    }, job.everyMs);
  timer = schedule();
  return async () => {
    stopped = true;
    clearTimeout(timer);
    await running;
  };
}
