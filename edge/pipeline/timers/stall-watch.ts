/**
 * Notices that one thing takes too long, of many that come one after another: the writes of a relay, the reads of a body. It
 * costs a look at the clock for each of them, and a timer only while some may be late. An isolate that is busy hears late of
 * what is done: nothing is called late before it has been looked at twice, with time between to hear of it.
 */
import type { Clock } from "../../ports.ts";
import type { SharedTimer } from "./shared-timer.ts";

/** Between the first look at what may be late and the second. */
const CONFIRM_MS = 250;

export class StallWatch {
  readonly #waits: SharedTimer;
  readonly #clock: Clock;
  readonly #onStall: () => void;
  #limitMs: number;
  /** How many things were begun; the last of them is under way, and since when, epoch ms; null: nothing is. */
  #begun = 0;
  #sinceMs: number | null = null;
  /** What was late at the first look. */
  #suspect = 0;
  #callOff: (() => void) | null = null;

  /** `onStall` is told when something has been under way for `limitMs`; 0: never. */
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

  /** From now on nothing may take longer than this, ms. */
  tighten(limitMs: number): void {
    if (this.#limitMs !== 0 && this.#limitMs <= limitMs) return;
    this.end();
    this.#limitMs = limitMs;
  }

  /** Nothing more is watched. */
  end(): void {
    this.#callOff?.();
    this.#callOff = null;
    this.#sinceMs = null;
  }

  #arm(ms: number): void {
    if (this.#limitMs === 0) return;
    this.#callOff ??= this.#waits.after(Math.max(ms, 0), () => this.#look());
  }

  #look(): void {
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
