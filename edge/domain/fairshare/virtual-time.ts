/**
 * How far a competition has come: the smallest score of those who wait in it, without estimates in flight, never
 * running back (docs/rules/fairshare.md#served-score). Who starts begins from there and has banked nothing. Estimates
 * do not count, because what is given back of one would leave the time ahead of who was charged it, and whoever starts
 * then would wait until that one has really used as much. A refund does not turn the time back: whoever starts at that
 * moment does not get as much for nothing.
 */

/** Counts how often the whole cell has been idle: what was served before the last time counts no more. */
export interface BusyPeriod {
  count: number;
}

export class VirtualTime {
  readonly #busyPeriod: BusyPeriod;
  #seen: number;
  #score: number;

  constructor(busyPeriod: BusyPeriod, score = 0) {
    this.#busyPeriod = busyPeriod;
    this.#seen = busyPeriod.count;
    this.#score = score;
  }

  get score(): number {
    return this.#seen === this.#busyPeriod.count ? this.#score : 0;
  }

  /**
   * After a dispatch. `waiting`: the settled score of the first of those still waiting; `granted`: that of the one granted,
   * before its charge.
   */
  advance(waiting: number | undefined, granted: number): void {
    this.#score = Math.max(this.score, waiting ?? granted);
    this.#seen = this.#busyPeriod.count;
  }

  /**
   * The score of one whose weight becomes `to`: the past stays settled, and its lead over the others is weighed with the
   * heavier of both weights. Else it would wait under its new weight for what it was given under the old one.
   */
  reweighed(score: number, from: number, to: number): number {
    return Math.max(0, this.score + ((score - this.score) * from) / Math.max(from, to));
  }
}
