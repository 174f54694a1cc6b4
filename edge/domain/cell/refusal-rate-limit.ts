/**
 * Rows of unauthenticated refusals are bounded to 50 per second and cell, so that a flood of wrong keys cannot fill the
 * ledger; what exceeds the bound is only counted (docs/rules/settlement-and-rows.md#refusals).
 */

export const UNAUTHENTICATED_ROWS_PER_SECOND = 50;

export class RefusalRateLimit {
  #second = Number.NaN;
  #taken = 0;

  /** True when one more row may be written in the second of `nowMs`. */
  allow(nowMs: number): boolean {
    const second = Math.floor(nowMs / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#taken = 0;
    }
    this.#taken += 1;
    return this.#taken <= UNAUTHENTICATED_ROWS_PER_SECOND;
  }
}
