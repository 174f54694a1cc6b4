/**
 * Which jobs this replica may run (docs/rules/jobs.md#one-replica-at-a-time). Each job has a lease row; one statement
 * extends all of them, so that it works through a connection pooler. The replica measures its leases from before that
 * statement was sent, so that it stops starting a job before another replica may begin it. A run that lasts longer than
 * its lease may overlap with a run on another replica: jobs must tolerate being run twice.
 */
import { rootCause } from "../../../shared/text/root-cause.ts";
import type { Database } from "../../db/connect.ts";
import { releaseLeases, takeLeases } from "../../db/leases.ts";
import type { Logger } from "../log.ts";
import { failureLevel } from "../store-watch.ts";

/** The jobs of a replica that was killed stop for at most this long, until another replica takes their leases. */
const LEASE_MS = 6000;
const RENEW_EVERY_MS = 2000;

/** Consulted before each run of a job. */
export interface Leases {
  holds(name: string): boolean;
}

interface JobLeasesOptions {
  /** The name of this replica; no other replica has it while this one runs. */
  readonly holder: string;
  readonly names: readonly string[];
  /** Milliseconds of a clock that never runs back. */
  readonly nowMs: () => number;
  readonly log: Logger;
}

export class JobLeases implements Leases {
  readonly #db: Database;
  readonly #options: JobLeasesOptions;
  #held: ReadonlySet<string> = new Set();
  #untilMs = 0;

  constructor(db: Database, options: JobLeasesOptions) {
    this.#db = db;
    this.#options = options;
  }

  holds(name: string): boolean {
    return this.#held.has(name) && this.#options.nowMs() < this.#untilMs;
  }

  /**
   * Extends the leases that this replica holds and takes those that are free. Rejects when the database does not answer.
   */
  async renew(): Promise<void> {
    const { holder, names, nowMs, log } = this.#options;
    const fromMs = nowMs();
    const held = new Set(await takeLeases(this.#db, { holder, names }, LEASE_MS));
    const news = [...held].filter((name) => !this.#held.has(name));
    if (news.length > 0) log.info({ event: "jobs_taken", jobs: news });
    this.#held = held;
    this.#untilMs = fromMs + LEASE_MS;
  }

  /** Renews the leases until it is stopped; stopping gives all of them back, so that another replica continues at once. */
  start(): () => Promise<void> {
    let stopped = false;
    let timer: NodeJS.Timeout | undefined;
    const turn = async (): Promise<void> => {
      await this.renew().catch((error: unknown) =>
        this.#options.log[failureLevel(error)]({ event: "job_leases_failed", reason: rootCause(error) }),
      );
      if (!stopped) timer = setTimeout(next, RENEW_EVERY_MS);
    };
    const next = (): void => {
      running = turn();
    };
    let running = turn();
    return async () => {
      stopped = true;
      clearTimeout(timer);
      await running;
      this.#held = new Set();
      await releaseLeases(this.#db, this.#options).catch(() => undefined);
    };
  }
}
