/**
 * Carries one session of loans between the isolate's book and the Cell, within one request's context (design §12): opens it,
 * tells what happened every few ms, takes what comes back, and closes it when the next session serves, or nobody needs one.
 * The other requests never wait for it: they read and write the book, which is plain memory. Invariant: a row that the Cell
 * has not called durable when the session ends, however it ends, is sent another way.
 */
import type { LoanBook } from "../domain/loan/loan-book.ts";
import type { Debtor, LoanSession, Recall, Told } from "../domain/loan/messages.ts";
import type { Log } from "../ports.ts";
import { BEAT_MS, type RestOptions, sendRest } from "./loan-rest.ts";
import { withinPatience } from "./patience.ts";

/** Between two messages, while there is something to tell: for so long a row that has ended is in this isolate only. */
const TURN_MS = 5;
/** A session that no request has used for this long ends. */
const IDLE_MS = 1_000;
/** Also without a successor: the platform bounds what may run on after an answer, */
const SERVES_MAX_MS = 10_000;
/** and how many calls one request may make. */
const TELLS_MAX = 900;
/** A session that serves no more goes on for this long at most; by then its requests have permits of their own. */
const DRAIN_MAX_MS = 5_000;
/** And this long when only rows are left: a Cell that answers writes them down as soon as it can, and none of them twice. */
const ROWS_MAX_MS = 12_000;
/** A Cell that takes longer to answer is beyond reach. */
const PATIENCE_MS = 5_000;

const NOTHING_TOLD: Told = {
  shapes: [],
  taken: [],
  ended: [],
  returned: [],
  dropped: [],
  wishes: [],
};

export interface CarrierOptions extends RestOptions {
  readonly cell: string;
  /** Opens the session; the debtor lives as long as the calling request. */
  readonly open: (recall: Debtor["recall"]) => Promise<{ readonly session: LoanSession }>;
  readonly log: Log;
}

export class LoanCarrier {
  readonly #options: CarrierOptions;
  readonly #book: LoanBook;
  #tells = 0;
  /** Ends the pause under way. */
  #wake: () => void = () => undefined;

  constructor(book: LoanBook, options: CarrierOptions) {
    this.#book = book;
    this.#options = options;
  }

  /** Resolves when the session is over and every row of it is on its way. Never rejects. */
  async carry(): Promise<void> {
    const { cell, borrower, clock, log } = this.#options;
    let broken = false;
    try {
      await this.#session();
    } catch (error) {
      broken = true;
      log.event("loan_session_lost", { cell, reason: error instanceof Error ? error.name : "unknown" });
    }
    borrower.over(this.#book, broken, clock());
    await sendRest(this.#book, this.#options);
    for (let book = borrower.forsaken(clock()); book !== null; book = borrower.forsaken(clock())) {
      borrower.over(book, true, clock());
      await sendRest(book, this.#options);
    }
  }

  async #session(): Promise<void> {
    const { session } = await this.#answered(this.#options.open(async (recall) => await this.#recall(recall)));
    try {
      await this.#turn(session);
      await this.#serve(session);
      await this.#drain(session);
      await this.#answered(session.close(this.#news(this.#options.clock()) ?? NOTHING_TOLD));
    } finally {
      session[Symbol.dispose]();
    }
  }

  async #serve(session: LoanSession): Promise<void> {
    const { borrower, clock } = this.#options;
    const sinceMs = clock();
    borrower.serves(this.#book, sinceMs);
    while (borrower.isServing(this.#book)) {
      const nowMs = clock();
      const idle = nowMs >= this.#book.usedMs + IDLE_MS;
      if (idle || nowMs >= sinceMs + SERVES_MAX_MS || this.#tells >= TELLS_MAX) borrower.retire(this.#book);
      else {
        await this.#pause();
        await this.#turn(session);
      }
    }
  }

  async #drain(session: LoanSession): Promise<void> {
    const { clock } = this.#options;
    const sinceMs = clock();
    await this.#turn(session);
    while (!this.#book.settled && clock() < sinceMs + (this.#book.inUse ? DRAIN_MAX_MS : ROWS_MAX_MS)) {
      await this.#pause();
      await this.#turn(session);
    }
  }

  /** Tells what there is to tell. Throws when the Cell does not take it. */
  async #turn(session: LoanSession): Promise<void> {
    const { borrower, clock } = this.#options;
    const sentMs = clock();
    borrower.beat(this.#book, sentMs);
    const told = this.#news(sentMs);
    if (told === null) return;
    this.#tells += 1;
    this.#book.answered(await this.#answered(session.tell(told)), sentMs, clock());
  }

  /** Throws when the session was given up: a Cell that were told the rest would think that it had been told all. */
  #news(nowMs: number): Told | null {
    if (this.#book.isOver) throw new Error("the session was given up");
    return this.#book.message(nowMs);
  }

  async #recall(recall: Recall): Promise<void> {
    this.#book.recall(recall);
    this.#wake();
  }

  async #pause(): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, TURN_MS);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  async #answered<T>(work: Promise<T>): Promise<T> {
    const { borrower, clock } = this.#options;
    for (let waitedMs = 0; waitedMs < PATIENCE_MS; waitedMs += BEAT_MS) {
      const answer = await withinPatience(work, BEAT_MS);
      if (answer !== null) return answer.value;
      borrower.beat(this.#book, clock());
    }
    throw new Error("the Cell does not answer");
  }
}
