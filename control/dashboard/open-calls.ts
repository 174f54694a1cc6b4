/** How many calls pass through the console's server at the same time (docs/rules/console.md#relay). */
import { DashboardError } from "./dashboard-error.ts";

const PERSON_MAX = 32;
/** Of all people. Each call holds two connections. */
const ALL_MAX = 512;

export class OpenCalls {
  readonly #ofPerson = new Map<string, number>();
  #all = 0;

  /**
   * Counts a call of a person until the returned function is called for the first time. Throws DashboardError 429 while the
   * person, or all together, have as many as there may be.
   */
  begin(userId: string): () => void {
    const own = this.#ofPerson.get(userId) ?? 0;
    if (own >= PERSON_MAX || this.#all >= ALL_MAX) throw new DashboardError("too_many_calls", { "retry-after": "1" });
    this.#ofPerson.set(userId, own + 1);
    this.#all += 1;
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      this.#all -= 1;
      const left = (this.#ofPerson.get(userId) ?? 0) - 1;
      if (left > 0) this.#ofPerson.set(userId, left);
      else this.#ofPerson.delete(userId);
    };
  }
}
