/**
 * Time for spans (how long a lease lives, when a message is due, how much a bucket refills), made from a clock that may be
 * set. It passes as the clock moves ahead and stands still while the clock is set back: so no span grows by a clock that is
 * set back, and none ends early but by a clock that is set ahead. It is never behind the clock. What depends on the date
 * (period tags) is decided by the clock itself.
 */
export class MonotonicClock {
  #clockMs: number | null = null;
  #steadyMs = 0;

  /**
   * The time, in ms, while the clock shows `clockMs`; at first it is what the clock shows. Readings have to be given in the
   * order in which they were taken.
   */
  at(clockMs: number): number {
    if (this.#clockMs === null) this.#steadyMs = clockMs;
    else this.#steadyMs += Math.max(0, clockMs - this.#clockMs);
    this.#clockMs = clockMs;
    return this.#steadyMs;
  }

  /** What the clock, as read last, will show at a time if nobody sets it; a time that has passed is now. */
  clockAt(steadyMs: number): number {
    return (this.#clockMs ?? 0) + Math.max(0, steadyMs - this.#steadyMs);
  }
}
