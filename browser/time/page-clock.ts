/**
 * The clock of a page: one timer for everything on it that shows an age, running only while something does and the page is
 * visible. Between two ticks the time stands still, so that one drawing of the page shows one time.
 */

/** What the clock needs of its surroundings. */
interface ClockPorts {
  /** The time, epoch ms. */
  readonly now: () => number;
  /** Calls back again and again; returns how to stop that. */
  readonly every: (intervalMs: number, tick: () => void) => () => void;
  readonly isHidden: () => boolean;
  /** Calls back whenever the page is hidden or shown; returns how to stop that. */
  readonly onVisibility: (changed: () => void) => () => void;
}

const TICK_MS = 1000;

export class PageClock {
  readonly #ports: ClockPorts;
  readonly #listeners = new Set<() => void>();
  #nowMs: number | null = null;
  #stopTimer: (() => void) | null = null;
  #stopWatching: (() => void) | null = null;

  constructor(ports: ClockPorts) {
    this.#ports = ports;
  }

  /** The time of the last tick, epoch ms; the true time while nobody listens. */
  readonly nowMs = (): number => this.#nowMs ?? this.#ports.now();

  /** Calls `changed` at every tick until the returned function is called. */
  readonly subscribe = (changed: () => void): (() => void) => {
    const listener = (): void => changed();
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) this.#begin();
    return () => {
      if (this.#listeners.delete(listener) && this.#listeners.size === 0) this.#end();
    };
  };

  #begin(): void {
    this.#nowMs = this.#ports.now();
    this.#stopWatching = this.#ports.onVisibility(() => this.#visibilityChanged());
    if (!this.#ports.isHidden()) this.#stopTimer = this.#ports.every(TICK_MS, () => this.#tick());
  }

  #visibilityChanged(): void {
    const isHidden = this.#ports.isHidden();
    if (isHidden === (this.#stopTimer === null)) return;
    this.#stopTimer?.();
    this.#stopTimer = isHidden ? null : this.#ports.every(TICK_MS, () => this.#tick());
    if (!isHidden) this.#tick();
  }

  #tick(): void {
    this.#nowMs = this.#ports.now();
    for (const listener of [...this.#listeners]) listener();
  }

  #end(): void {
    this.#stopTimer?.();
    this.#stopWatching?.();
    this.#stopTimer = null;
    this.#stopWatching = null;
    this.#nowMs = null;
  }
}
