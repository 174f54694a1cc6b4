/**
 * The virtual time of a bottleneck: the smallest score of the competitors that wait there, without estimates in flight; it
 * never runs back (docs/rules/fairshare.md#served-score). A new competitor starts at this score and has no banked credit.
 * Estimates do not count: a refund of an estimate would leave virtual time ahead of the competitor that was charged, and a
 * competitor that starts then would wait until the other has really used as much. A refund does not turn virtual time back:
 * otherwise a competitor that starts at that moment would get as much for nothing.
 */

/** Counts how often the whole Cell has been idle: service before the last idle moment does not count. */
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
   * Call this after a dispatch. `waiting`: the settled score of the first that still waits; `granted`: the score of the granted
   * one, before its charge.
   */
  advance(waiting: number | undefined, granted: number): void {
    this.#score = Math.max(this.score, waiting ?? granted);
    this.#seen = this.#busyPeriod.count;
  }

  /**
   * The score of a competitor whose weight becomes `to`: the past stays settled, and its lead over the others is measured with
   * the heavier of both weights. Otherwise it would wait under its new weight for what it got under the old one.
   */
  reweighed(score: number, from: number, to: number): number {
    return Math.max(0, this.score + ((score - this.score) * from) / Math.max(from, to));
  }
}
