/**
 * What a session of loans leaves behind: rows that its Cell has not called durable are sent another way. They stay in the
 * book until they are, so that another request finds them when the one that sends them is cut off as well.
 */
import type { Settlement } from "../domain/ask.ts";
import type { Borrower } from "../domain/loan/borrower.ts";
import type { LoanBook } from "../domain/loan/loan-book.ts";
import type { Clock } from "../ports.ts";
import { withinPatience } from "./patience.ts";

/** A sign of life this often: whoever gives none is taken to be cut off. */
export const BEAT_MS = 500;

export interface RestOptions {
  readonly borrower: Borrower;
  /** Sends a row that its session could not; never throws. */
  readonly resend: (settlement: Settlement) => Promise<void>;
  readonly clock: Clock;
}

/** Resolves when every row of a book that is over is on its way. Never rejects. */
export async function sendRest(book: LoanBook, { borrower, resend, clock }: RestOptions): Promise<void> {
  const sent = Promise.all(
    book.finish().map(async (settlement) => {
      await resend(settlement);
      book.safe(settlement.row.request_id);
    }),
  );
  while ((await withinPatience(sent, BEAT_MS)) === null) borrower.beat(book, clock());
  borrower.gone(book);
}
