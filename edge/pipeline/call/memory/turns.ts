/** The turns of work that clients can make long (docs/rules/request-bodies.md#work). */

/** The work of one turn, in units; several calls that work share it. */
const TURN_UNITS = 32 * 1024;
const TURN_UNITS_MIN = 1024;
/** A call that has had no turn for so long has ended without notice. */
const FORGOTTEN_AFTER_MS = 10_000;

/** The work of an isolate that is done in turns, and when each part of it had its last one, epoch ms. */
export class Turns {
  readonly #lastMs = new Map<object, number>();

  /** How long a turn of this work may be, in units: whoever waits for the turns of all waits about as long as for one. */
  unitsOf(work: object): number {
    const sharing = this.#lastMs.size + (this.#lastMs.has(work) ? 0 : 1);
    return Math.max(TURN_UNITS / sharing, TURN_UNITS_MIN);
  }

  had(work: object, nowMs: number): void {
    // those that had their turn last come last
    this.#lastMs.delete(work);
    for (const [other, lastMs] of this.#lastMs) {
      if (nowMs - lastMs < FORGOTTEN_AFTER_MS) break;
      this.#lastMs.delete(other);
    }
    this.#lastMs.set(work, nowMs);
  }

  end(work: object): void {
    this.#lastMs.delete(work);
  }
}
