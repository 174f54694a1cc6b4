/**
 * Notices that one of many operations that follow one another takes too long: the writes of a relay, the reads of a
 * body. It reads the clock for each of them, and needs a timer only while one may be late. A busy isolate learns late
 * of finished work: an operation counts as late only when two checks have found it late, with time in between to learn
 * that it has finished.
 */
import type { Clock } from "../../ports.ts";
import type { SharedTimer } from "./shared-timer.ts";

/** Time between the first check of an operation that may be late and the second. */
const CONFIRM_MS = 250;

export class StallWatch {
  readonly #waits: SharedTimer;
  readonly #clock: Clock;
  readonly #onStall: () => void;
  #limitMs: number;
  /**
   * How many operations were started; the last of them has been under way since the time below, epoch ms; null: none is under
   * way.
   */
  #begun = 0;
  #sinceMs: number | null = null;
  /** The operation that the first check found late. */
  #suspect = 0;
  #callOff: (() => void) | null = null;

  /** `onStall` is called when an operation has been under way for `limitMs`; 0: never. */
  constructor(waits: SharedTimer, clock: Clock, limitMs: number, onStall: () => void) {
    this.#waits = waits;
    this.#clock = clock;
    this.#limitMs = limitMs;
    this.#onStall = onStall;
  }

  begin(): void {
    this.#begun += 1;
    this.#sinceMs = this.#clock();
    this.#arm(this.#limitMs - CONFIRM_MS);
  }

  done(): void {
    this.#sinceMs = null;
  }

  /** Sets the longest time for an operation from now on, ms. */
  tighten(limitMs: number): void {
    if (this.#limitMs !== 0 && this.#limitMs <= limitMs) return;
    this.end();
    this.#limitMs = limitMs;
  }

  /** Ends the watch. */
  end(): void {
    this.#callOff?.();
    this.#callOff = null;
    this.#sinceMs = null;
  }

  #arm(ms: number): void {
    if (this.#limitMs === 0) return;
    this.#callOff ??= this.#waits.after(Math.max(ms, 0), () => this.#check());
  }

  #check(): void {
    this.#callOff = null;
    if (this.#sinceMs === null) return;
    const leftMs = this.#sinceMs + this.#limitMs - this.#clock();
    if (leftMs > CONFIRM_MS) this.#arm(leftMs - CONFIRM_MS);
    else if (this.#suspect === this.#begun) this.#onStall();
    else {
      this.#suspect = this.#begun;
      this.#arm(CONFIRM_MS);
    }
  }
}
