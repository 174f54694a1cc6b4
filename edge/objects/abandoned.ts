/** Requests whose permits or sessions were lost, the latest, and what they were charged then: they have rows. */
import type { Actual } from "../domain/budget/amounts.ts";

/** Enough for all that a cell lets run at once. */
const KEPT = 10_000;

export class Abandoned {
  readonly #charged = new Map<string, Actual>();

  /** Whoever lost the way to this Cell, and not the request, may come back and adopt it. */
  remember(requestId: string, charged: Actual): void {
    this.#charged.set(requestId, charged);
    const [oldest = requestId] = this.#charged.keys();
    if (this.#charged.size > KEPT) this.#charged.delete(oldest);
  }

  has(requestId: string): boolean {
    return this.#charged.has(requestId);
  }

  /** What it was charged, once; null: it was not abandoned. */
  take(requestId: string): Actual | null {
    const charged = this.#charged.get(requestId) ?? null;
    this.#charged.delete(requestId);
    return charged;
  }
}
