/**
 * Reports that a store fails and that it answers again (shared/text/outage-lines.ts). Each user of the store reports its
 * own failure too: with {@link failureLevel} that line is left out when the store's own line has told the cause.
 */
import { type OutageFacts, OutageLines } from "../../shared/text/outage-lines.ts";
import { rootCause } from "../../shared/text/root-cause.ts";
import type { Logger } from "./log.ts";

const DEPTH_MAX = 8;

/** Failures that a store's own line tells, or that need none. */
const told = new WeakSet<object>();

/** The events of each store. */
const EVENTS = {
  database: [{ event: "database_failed" }, { event: "database_available" }],
  analytics: [{ event: "analytics_failed" }, { event: "analytics_available" }],
  key_store: [{ event: "key_store_failed" }, { event: "key_store_available" }],
} as const;

export class StoreWatch {
  readonly #store: keyof typeof EVENTS;
  readonly #log: Pick<Logger, "info" | "warn">;
  readonly #nowMs: () => number;
  /** By the kind of failure: a store that refuses one statement answers others. */
  readonly #outages = new Map<string, OutageLines>();

  constructor(store: keyof typeof EVENTS, log: Pick<Logger, "info" | "warn">, nowMs: () => number = Date.now) {
    this.#store = store;
    this.#log = log;
    this.#nowMs = nowMs;
  }

  /** The store has not answered, or has refused with the code `kind`. */
  failed(error: unknown, kind = ""): void {
    this.left(error);
    const outage = this.#outages.get(kind) ?? new OutageLines();
    this.#outages.set(kind, outage);
    const facts = outage.failed(this.#nowMs());
    if (facts !== null) this.#log.warn({ ...EVENTS[this.#store][0], reason: rootCause(error), ...facts });
  }

  /** Who has asked did not wait for the answer: that tells nothing of the store, and needs no line. */
  left(error: unknown): void {
    if (typeof error === "object" && error !== null) told.add(error);
  }

  answered(): void {
    for (const outage of this.#outages.values()) this.#back(outage.answered(this.#nowMs()));
  }

  #back(facts: OutageFacts | null): void {
    if (facts !== null) this.#log.info({ ...EVENTS[this.#store][1], ...facts });
  }
}

/** The level of the line of a failure: `debug`, which is not written, when a store's own line tells it. */
export function failureLevel(error: unknown): "warn" | "debug" {
  for (let at = error, depth = 0; at instanceof Error && depth < DEPTH_MAX; at = at.cause, depth += 1)
    if (told.has(at) || endsConnection(at)) return "debug";
  return "warn";
}

/** Whether a database server that stops has ended a statement: the lost connection, which follows, is logged instead. */
function endsConnection(error: Error): boolean {
  return "code" in error && (error.code === "57P01" || error.code === "57P02");
}
