/**
 * Sends counted events to the Cell. Events that happen while one call is under way are sent with the next one, so that
 * a busy isolate makes a few calls and not one per request. Counting never delays a request and never makes it fail; a
 * batch that the Cell does not take is lost.
 */
import { type CountedEvent, eventKey, eventsOf, type MetricEvent } from "../../domain/cell/event-counters.ts";
import type { Clock, EventCounter } from "../../ports.ts";

/** A call that has not ended after this long belongs to a request that was cut off. */
const CALL_MAX_MS = 5000;

export class CellEventCounter implements EventCounter {
  readonly #send: (counted: readonly CountedEvent[]) => Promise<void>;
  readonly #clock: Clock;
  readonly #keepAlive: (work: Promise<unknown>) => void;
  #waiting = new Map<string, MetricEvent & { times: number }>();
  #sentMs: number | null = null;

  /** `keepAlive` lets a call outlive the request that started it. */
  constructor(
    send: (counted: readonly CountedEvent[]) => Promise<void>,
    clock: Clock,
    keepAlive: (work: Promise<unknown>) => void,
  ) {
    this.#send = send;
    this.#clock = clock;
    this.#keepAlive = keepAlive;
  }

  count(event: MetricEvent | readonly CountedEvent[]): void {
    for (const counted of eventsOf(event)) {
      const key = eventKey(counted);
      const known = this.#waiting.get(key);
      if (known === undefined) this.#waiting.set(key, { ...counted });
      else known.times += counted.times;
    }
    if (this.#sentMs === null || this.#clock() - this.#sentMs > CALL_MAX_MS) this.#keepAlive(this.#flush());
  }

  async #flush(): Promise<void> {
    while (this.#waiting.size > 0) {
      const batch = [...this.#waiting.values()];
      this.#waiting = new Map();
      this.#sentMs = this.#clock();
      await this.#send(batch).catch(() => undefined);
    }
    this.#sentMs = null;
  }
}
