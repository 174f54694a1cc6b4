/**
 * Requests whose permits or sessions were lost. Those that were let through were charged then, and have rows; those that waited
 * have given way to others, and may come back for a while: the row that says they left is written when they have not, for the
 * log keeps the first row of a request.
 */
import type { Actual } from "../domain/budget/amounts.ts";
import { larger, NOTHING_USED, type Seat } from "./seat.ts";

/** Enough for all that a cell lets run at once. */
const KEPT = 10_000;
/** Longer than an isolate takes to find out that its session is lost (exchange-admission.ts). */
const BACK_WITHIN_MS = 6_000;

export class LostSeats {
  readonly #charged = new Map<string, Actual>();
  readonly #away = new Map<string, Seat>();
  readonly #later: (delayMs: number, run: () => void) => void;

  constructor(later: (delayMs: number, run: () => void) => void) {
    this.#later = later;
  }

  /** Whoever lost the way to this Cell, and not the request, may come back and adopt it. */
  remember(requestId: string, charged: Actual): void {
    this.#charged.set(requestId, charged);
    const [oldest = requestId] = this.#charged.keys();
    if (this.#charged.size > KEPT) this.#charged.delete(oldest);
  }

  /** One that waited; `left` is called when it has not come back. */
  sendAway(seat: Seat, left: () => void): void {
    const { requestId } = seat.ask;
    if (seat.charged !== null) this.remember(requestId, seat.charged);
    this.#away.set(requestId, seat);
    this.#later(BACK_WITHIN_MS, () => {
      if (this.#away.get(requestId) !== seat) return;
      this.#away.delete(requestId);
      this.remember(requestId, larger(NOTHING_USED, seat.charged));
      left();
    });
  }

  has(requestId: string): boolean {
    return this.#away.has(requestId) || this.#charged.has(requestId);
  }

  /** The seat of one that waited; null: it did not, or it is too late. */
  away(requestId: string): Seat | null {
    return this.#away.get(requestId) ?? null;
  }

  /** The request is here again, or ended elsewhere. */
  isBack(requestId: string): void {
    this.#away.delete(requestId);
  }

  /** What it was charged, nothing if it only waited, once; null: it was not lost. */
  take(requestId: string): Actual | null {
    const charged = this.#charged.get(requestId) ?? null;
    this.#charged.delete(requestId);
    return charged;
  }
}
