/**
 * Time for durations (how long a lease lives, when a message is due, how much a bucket refills), made from a clock that may be
 * set. It advances with the clock, and stands still while the clock is set back. So setting the clock back never makes a
 * duration longer, and only setting it ahead can end one early. It is never behind the clock. The clock itself decides what
 * depends on the date (period tags).
 */
export class MonotonicClock {
  #clockMs: number | null = null;
  #steadyMs = 0;

  /**
   * The time in ms while the clock shows `clockMs`; at first both are equal. Pass readings in the order in which they were
   * taken.
   */
  at(clockMs: number): number {
    if (this.#clockMs === null) this.#steadyMs = clockMs;
    else this.#steadyMs += Math.max(0, clockMs - this.#clockMs);
    this.#clockMs = clockMs;
    return this.#steadyMs;
  }

  /** The reading that the clock will show at a time, unless it is set meanwhile; a time that has passed is now. */
  clockAt(steadyMs: number): number {
    return (this.#clockMs ?? 0) + Math.max(0, steadyMs - this.#steadyMs);
  }
}
