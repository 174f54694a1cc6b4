/**
 * Which jobs this replica may run (design §8): a lease row per job, prolonged for all of them in one statement, so that it
 * works behind a connection pooler. The own clock counts from before that statement was sent: this replica stops starting
 * a job before any other may begin. A turn that outlasts its lease may overlap with another's: jobs bear being run twice.
 */
import type { Database } from "../db/connect.ts";
import { releaseLeases, takeLeases } from "../db/leases.ts";
import type { Logger } from "../kernel/log.ts";

/** The jobs of a replica that was killed stand still for this long at most, and until another one looks. */
const LEASE_MS = 6000;
const RENEW_EVERY_MS = 2000;

/** Asked before each turn of a job. */
export interface Leases {
  holds(name: string): boolean;
}

interface JobLeasesOptions {
  /** Who this replica is; no other may have the name while it runs. */
  readonly holder: string;
  readonly names: readonly string[];
  /** Milliseconds of a clock that never goes back. */
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

  /** Prolongs what this replica holds and takes what is free. Rejects when the database does not answer. */
  async renew(): Promise<void> {
    const { holder, names, nowMs, log } = this.#options;
    const fromMs = nowMs();
    const held = new Set(await takeLeases(this.#db, { holder, names }, LEASE_MS));
    const news = [...held].filter((name) => !this.#held.has(name));
    if (news.length > 0) log.info({ event: "jobs_taken", jobs: news });
    this.#held = held;
    this.#untilMs = fromMs + LEASE_MS;
  }

  /** Renews until it is stopped, which lets go of everything: another replica goes on at once. */
  start(): () => Promise<void> {
    let stopped = false;
    let timer: NodeJS.Timeout | undefined;
    const turn = async (): Promise<void> => {
      await this.renew().catch((error: unknown) =>
        this.#options.log.warn({ event: "job_leases_failed", reason: error instanceof Error ? error.name : "unknown" }),
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
