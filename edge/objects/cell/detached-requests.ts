/**
 * Requests whose permits or sessions were lost. Those that were let through were charged then, and have rows; those that waited
 * have given way to others, and may come back for a while: the row that says they left is written when they have not, for the
 * log keeps the first row of a request.
 */
import type { ActualUsage } from "../../domain/budget/amounts.ts";
import { type AdmissionEntry, largerUsage, NO_USAGE } from "./admission-entry.ts";

/** Enough for all that a cell lets run at once. */
const KEPT = 10_000;
/** Longer than an isolate takes to find out that its session is lost (exchange-admission.ts). */
const BACK_WITHIN_MS = 6_000;

export class DetachedRequests {
  readonly #charged = new Map<string, ActualUsage>();
  readonly #away = new Map<string, AdmissionEntry>();
  readonly #later: (delayMs: number, run: () => void) => void;

  constructor(later: (delayMs: number, run: () => void) => void) {
    this.#later = later;
  }

  /** Whoever lost the way to this Cell, and not the request, may come back and adopt it. */
  rememberCharge(requestId: string, charged: ActualUsage): void {
    this.#charged.set(requestId, charged);
    const [oldest = requestId] = this.#charged.keys();
    if (this.#charged.size > KEPT) this.#charged.delete(oldest);
  }

  /** One that waited; `left` is called when it has not come back. */
  detach(seat: AdmissionEntry, left: () => void): void {
    const { requestId } = seat.ask;
    if (seat.charged !== null) this.rememberCharge(requestId, seat.charged);
    this.#away.set(requestId, seat);
    this.#later(BACK_WITHIN_MS, () => {
      if (this.#away.get(requestId) !== seat) return;
      this.#away.delete(requestId);
      this.rememberCharge(requestId, largerUsage(NO_USAGE, seat.charged));
      left();
    });
  }

  has(requestId: string): boolean {
    return this.#away.has(requestId) || this.#charged.has(requestId);
  }

  /** The seat of one that waited; null: it did not, or it is too late. */
  waiting(requestId: string): AdmissionEntry | null {
    return this.#away.get(requestId) ?? null;
  }

  /** The request is here again, or ended elsewhere. */
  reattach(requestId: string): void {
    this.#away.delete(requestId);
  }

  /** What it was charged, nothing if it only waited, once; null: it was not lost. */
  takeCharge(requestId: string): ActualUsage | null {
    const charged = this.#charged.get(requestId) ?? null;
    this.#charged.delete(requestId);
    return charged;
  }
}
