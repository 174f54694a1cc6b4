/**
 * The time that a request body may take (docs/rules/request-bodies.md#time-limits): so long without a byte, and so long
 * in all. It runs only while the gateway waits for the client: one that is held up by the gateway itself, or by an
 * upstream that takes the body slowly, loses none of it.
 */
import { GatewayError } from "../../../shared/errors.ts";
import type { Clock } from "../../ports.ts";
import type { SharedTimer } from "../timers/shared-timer.ts";
import { StallWatch } from "../timers/stall-watch.ts";

const SILENT_MAX_MS = 30_000;
const ALL_MAX_MS = 300_000;

export class BodyDeadline {
  readonly #clock: Clock;
  readonly #watch: StallWatch;
  #leftMs = ALL_MAX_MS;
  #fail: ((reason: GatewayError) => void) | null = null;

  constructor(waits: SharedTimer, clock: Clock) {
    this.#clock = clock;
    this.#watch = new StallWatch(waits, clock, SILENT_MAX_MS, () => this.#fail?.(tooSlow()));
  }

  /** What one read of the body gives. Throws 408 `request_timeout`, or what the read throws. */
  async within<T>(read: () => Promise<T>): Promise<T> {
    if (this.#leftMs <= 0) throw tooSlow();
    if (this.#leftMs < SILENT_MAX_MS) this.#watch.tighten(this.#leftMs);
    const beganMs = this.#clock();
    this.#watch.begin();
    try {
      return await new Promise<T>((resolve, reject) => {
        this.#fail = reject;
        read().then(resolve, reject);
      });
    } finally {
      this.#watch.done();
      this.#leftMs -= this.#clock() - beganMs;
    }
  }

  /** Nothing more is read. */
  end(): void {
    this.#watch.end();
  }
}

function tooSlow(): GatewayError {
  return new GatewayError("request_timeout", { headers: { "x-should-retry": "false" } });
}
