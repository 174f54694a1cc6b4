/** Adds up counters as Prometheus' `increase()` does, without its extrapolation: a value below the last one starts a new life at 0. */
export class IncreasesOverLives {
  readonly #last = new Map<string, number>();
  readonly #sums = new Map<string, number>();

  /** Takes the next value of a series. What happened before the first one is in no increase. */
  sample(series: string, value: number): void {
    const last = this.#last.get(series) ?? value;
    this.#sums.set(series, this.of(series) + (value < last ? value : value - last));
    this.#last.set(series, value);
  }

  of(series: string): number {
    return this.#sums.get(series) ?? 0;
  }
}
