/** How many messages one side of a realtime session sends (docs/rules/realtime.md#limits-of-a-session): a token bucket. */
import { LIMITS } from "../../../shared/catalogues/limits.ts";

export class MessageRate {
  readonly #perMs: number;
  readonly #most: number;
  #left: number;
  /** Epoch ms; 0: none has come. */
  #lastMs = 0;

  constructor(perSecond: number) {
    this.#perMs = perSecond / 1_000;
    this.#most = this.#perMs * LIMITS.realtimeBurst;
    this.#left = this.#most;
  }

  /** Counts a message. Returns whether it may come now. */
  allows(nowMs: number): boolean {
    // A clock that is set back adds nothing.
    const since = Math.max(0, nowMs - this.#lastMs);
    this.#lastMs = nowMs;
    this.#left = Math.min(this.#most, this.#left + since * this.#perMs);
    if (this.#left < 1) return false;
    this.#left -= 1;
    return true;
  }
}
