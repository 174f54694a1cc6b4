/**
 * The permit of a request that runs on a lent slot: it holds its slot by the isolate's book, not by an object. Whoever asks
 * whether it is lost is told so at once: a request that runs long enough to ask is to have a permit of its own.
 */
import type { Decision, Grant, PermitHandle, Settlement } from "../domain/ask.ts";
import type { Borrowed } from "../domain/loan/borrower.ts";
import type { LoanBook } from "../domain/loan/loan-book.ts";
import type { Clock } from "../ports.ts";

export class LoanedPermit implements PermitHandle {
  readonly #requestId: string;
  readonly #grant: Grant;
  readonly #book: LoanBook;
  readonly #clock: Clock;
  readonly #resend: (settlement: Settlement) => void;
  #settled = false;

  /** `resend` sends a row that the book cannot. */
  constructor(requestId: string, { grant, book }: Borrowed, clock: Clock, resend: (settlement: Settlement) => void) {
    this.#requestId = requestId;
    this.#grant = grant;
    this.#book = book;
    this.#clock = clock;
    this.#resend = resend;
  }

  async decision(): Promise<Decision> {
    return { verdict: "granted", grant: this.#grant };
  }

  async inUse(): Promise<void> {}

  async lost(): Promise<never> {
    throw new Error("the slot is lent");
  }

  /** The book has the row when this resolves; its carrier hands it on. Throws when the row has to go another way. */
  async settle(settlement: Settlement): Promise<void> {
    this.#settled = true;
    if (!this.#book.end(this.#requestId, settlement, this.#clock())) throw new Error("the loan is over");
  }

  [Symbol.dispose](): void {
    if (this.#settled) return;
    this.#settled = true;
    const settlement = this.#book.abandon(this.#requestId, this.#clock());
    if (settlement !== null) this.#resend(settlement);
  }
}
