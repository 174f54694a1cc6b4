/**
 * The time limits of a request body (docs/rules/request-bodies.md#time-limits): one for the time without a byte, and
 * one in all. Time runs only while the gateway waits for the client: a client that is held up by the gateway, or by an
 * upstream that takes the body slowly, loses no time. A gateway that stops does not wait for a body.
 */
import { LIMITS } from "../../../shared/catalogues/limits.ts";
import { GatewayError } from "../../../shared/errors.ts";
import type { Clock } from "../../ports.ts";
import type { Call } from "../call/context.ts";
import type { Interruption } from "../call/interruption.ts";
import { StallWatch } from "../call/stall-watch.ts";

const SILENT_MAX_MS = LIMITS.bodySilence;
const ALL_MAX_MS = LIMITS.bodyTime;

export class BodyDeadline {
  readonly #clock: Clock;
  readonly #watch: StallWatch;
  readonly #interruption: Interruption;
  #leftMs = ALL_MAX_MS;
  #fail: ((reason: GatewayError) => void) | null = null;

  constructor({
    ports,
    timer,
    interruption,
  }: Pick<Call, "timer" | "interruption"> & { readonly ports: { readonly clock: Clock } }) {
    this.#clock = ports.clock;
    this.#watch = new StallWatch(timer, ports.clock, SILENT_MAX_MS, () => this.#fail?.(tooSlow()));
    this.#interruption = interruption;
  }

  /** Runs one read of the body within the limits. Throws 408 `request_timeout`, the interruption's failure, or what the read throws. */
  async within<T>(read: () => Promise<T>): Promise<T> {
    if (this.#leftMs <= 0) throw tooSlow();
    if (this.#interruption.failure !== null) throw this.#interruption.failure;
    if (this.#leftMs < SILENT_MAX_MS) this.#watch.tighten(this.#leftMs);
    const beganMs = this.#clock();
    this.#watch.begin();
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#fail = reject;
    // Only while it reads: many bodies are opened and never read to their end, and the isolate would keep their listeners.
    const callOff = this.#interruption.listen(() => reject(this.#interruption.failure));
    try {
      read().then(resolve, reject);
      return await promise;
    } finally {
      callOff();
      this.#watch.done();
      this.#leftMs -= this.#clock() - beganMs;
    }
  }

  /** Ends the limits: nothing more is read. */
  end(): void {
    this.#watch.end();
  }
}

function tooSlow(): GatewayError {
  return new GatewayError("request_timeout", { headers: { "x-should-retry": "false" } });
}
