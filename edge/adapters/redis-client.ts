/**
 * The data plane's client of the key-value store: a deadline and a circuit breaker, because a slow store is worse than an
 * unavailable one (docs/rules/freshness.md#store-down). Every failure is a StoreDown; a
 * failure is never taken for absence of a record.
 */
import { Redis } from "@upstash/redis/cloudflare";
import { OutageLines } from "../../shared/text/outage-lines.ts";
import { rootCause } from "../../shared/text/root-cause.ts";
import type { Clock, Log } from "../ports.ts";
import { stallTolerantTimeout } from "./stall-tolerant-timeout.ts";

const DEADLINE_MS = 250;
/** Of a command without which a request would be refused, once it has failed within the other deadline. */
const PATIENT_DEADLINE_MS = 2_000;
/** After this many failures in a row the store is not called for a while. */
const BREAK_AFTER = 5;
const BREAK_MS = 1000;
/** The name of the error of a command whose deadline has passed. */
const LATE = "TimeoutError";

/** The store did not answer in time, refused, or is not being called after failures. */
export class StoreDown extends Error {
  override readonly name = "StoreDown";
}

export class RedisClient {
  readonly #redis: Redis;
  readonly #patient: Redis;
  readonly #clock: Clock;
  readonly #log: Log;
  #failures = 0;
  /** Every one of these failures was an answer that did not come in time. */
  #isLate = false;
  #openUntilMs = 0;
  readonly #outage = new OutageLines();
  readonly #host: string;
  readonly #use: string;

  /** `use`: what the client reads and writes, for the log. Each use has its own client. */
  constructor(store: { readonly url: string; readonly token: string }, clock: Clock, log: Log, use = "records") {
    const withDeadline = (ms: number): Redis =>
      new Redis({
        url: store.url,
        token: store.token,
        retry: false,
        signal: () => deadline(ms),
        automaticDeserialization: false,
        enableTelemetry: false,
        enableAutoPipelining: false,
      });
    this.#redis = withDeadline(DEADLINE_MS);
    this.#patient = withDeadline(PATIENT_DEADLINE_MS);
    this.#clock = clock;
    this.#host = URL.parse(store.url)?.host ?? "";
    this.#log = log;
    this.#use = use;
  }

  /**
   * Runs one command or pipeline. `patient`: the caller has no alternative, so it calls a store that was only late even while
   * other callers avoid it. Throws StoreDown.
   */
  async run<T>(work: (redis: Redis) => Promise<T>, patient = false): Promise<T> {
    if (this.#clock() < this.#openUntilMs && !(patient && this.#isLate))
      throw new StoreDown("the store is not called for a moment after repeated failures");
    try {
      const answer = await work(patient ? this.#patient : this.#redis);
      this.#failures = 0;
      this.#openUntilMs = 0;
      this.#isBack();
      return answer;
    } catch (error) {
      const isLate = error instanceof Error && error.name === LATE;
      this.#isLate = isLate && (this.#isLate || this.#failures === 0);
      this.#failures += 1;
      if (this.#failures >= BREAK_AFTER) this.#openUntilMs = this.#clock() + BREAK_MS;
      const reason = `${this.#host}: ${rootCause(error)}`;
      const facts = this.#outage.failed(this.#clock());
      if (facts !== null) this.#log.event("key_store_failed", { reason, use: this.#use, ...facts });
      throw new StoreDown("the store did not answer", { cause: reason });
    }
  }

  #isBack(): void {
    const facts = this.#outage.answered(this.#clock());
    if (facts !== null) this.#log.event("key_store_available", { use: this.#use, ...facts }, "info");
  }
}

/**
 * Deadline of one command. It counts only time in which the isolate runs: in a burst of first requests the isolate is slow,
 * not the store.
 */
function deadline(ms: number): AbortSignal {
  const controller = new AbortController();
  stallTolerantTimeout(ms, () => controller.abort(new DOMException(`no answer within ${ms} ms`, LATE)));
  return controller.signal;
}
