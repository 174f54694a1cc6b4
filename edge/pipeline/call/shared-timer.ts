/**
 * The waits of one call on one timer. Nearly every call ends before anything that it waits for is due, and a timer
 * costs more than most steps: therefore the waits share a first timer, and only a call that still runs when it fires
 * gets a timer for each wait.
 */
import type { Clock } from "../../ports.ts";

/** Shorter waits have separate timers from the start. */
const SHARED_WAIT_MS = 200;

interface Wait {
  readonly ms: number;
  readonly fromMs: number;
  readonly run: () => void;
  /** The wait's own timer. */
  timer: ReturnType<typeof setTimeout> | null;
}

export class SharedTimer {
  readonly #clock: Clock;
  /** Waits that have not ended. */
  readonly #waits = new Set<Wait>();
  #firstTimer: ReturnType<typeof setTimeout> | null = null;
  #firstTimerFired = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Runs `run` after `ms`. The returned function cancels that. */
  after(ms: number, run: () => void): () => void {
    const wait: Wait = { ms, fromMs: this.#clock(), run, timer: null };
    this.#waits.add(wait);
    if (this.#firstTimerFired || ms < SHARED_WAIT_MS) this.#arm(wait, ms);
    else this.#firstTimer ??= setTimeout(() => this.#onFirstTimer(), SHARED_WAIT_MS);
    return () => this.#callOff(wait);
  }

  #onFirstTimer(): void {
    this.#firstTimerFired = true;
    this.#firstTimer = null;
    const nowMs = this.#clock();
    for (const wait of this.#waits) {
      // By any clock, the time that has passed is between zero and the time of the shared timer.
      const leftMs = wait.ms - Math.min(SHARED_WAIT_MS, Math.max(0, nowMs - wait.fromMs));
      if (wait.timer !== null) continue;
      if (leftMs <= 0) this.#end(wait);
      else this.#arm(wait, leftMs);
    }
  }

  #arm(wait: Wait, ms: number): void {
    wait.timer = setTimeout(() => this.#end(wait), ms);
  }

  #end(wait: Wait): void {
    this.#waits.delete(wait);
    wait.run();
  }

  #callOff(wait: Wait): void {
    if (!this.#waits.delete(wait)) return;
    clearTimeout(wait.timer);
    if (this.#waits.size > 0 || this.#firstTimer === null) return;
    clearTimeout(this.#firstTimer);
    this.#firstTimer = null;
  }
}
