/**
 * A log that leaves out lines of requests while there are many of them (docs/watch.md#logs): above a rate, 99 of 100
 * lines of requests that succeeded. The next line that is written says how many were left out before it, so that the sum
 * over the lines stays the number of requests. Lines of failures and of other events are always written.
 */
import type { Clock, Log } from "../ports.ts";

/** Above the rate, one of so many is written. */
const ONE_OF = 100;

export class SampledLog implements Log {
  readonly #inner: Log;
  readonly #clock: Clock;
  readonly #perSecond: number;
  #second = 0;
  /** Requests of this second, and those without a line since the last one. */
  #requests = 0;
  #leftOut = 0;

  constructor(inner: Log, clock: Clock, perSecond: number) {
    this.#inner = inner;
    this.#clock = clock;
    this.#perSecond = perSecond;
  }

  event(...[name, fields, level]: Parameters<Log["event"]>): void {
    if (name !== "request") {
      this.#inner.event(name, fields, level);
      return;
    }
    const second = Math.floor(this.#clock() / 1_000);
    if (second !== this.#second) this.#requests = 0;
    this.#second = second;
    this.#requests += 1;
    if (this.#requests > this.#perSecond && this.#leftOut < ONE_OF - 1 && Number(fields["status"]) < 400) {
      this.#leftOut += 1;
      return;
    }
    this.#inner.event(name, { ...fields, sampled: this.#leftOut || undefined }, level);
    this.#leftOut = 0;
  }
}
