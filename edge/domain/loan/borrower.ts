/**
 * The isolate's side of loans: which book a request takes its slot from, and when a session is due. One session serves at a
 * time; it is followed by a fresh one before it grows old, because the request that carries it may not live for long. While
 * demand is low there is none, and every request asks the Cell.
 */
import type { Ask, Grant } from "../ask.ts";
import { LoanBook } from "./loan-book.ts";

/** A session is followed by another after this long: a platform bounds what one request may do besides its answer. */
const SESSION_MS = 3_000;
/** After a session that could not be opened, or broke, the next one waits. */
const PAUSE_MS = 1_000;
/**
 * A session whose carrier has not been heard of for this long has none any more: it was cut off. Soon enough for its rows to
 * reach the Cell before that settles the requests of a lost session by itself.
 */
const FORSAKEN_MS = 1_500;

/** A slot, and the book that it is of. */
export interface Borrowed {
  readonly grant: Grant;
  readonly book: LoanBook;
}

export class Borrower {
  /** Counts what is asked for, until that is worth a session; then it is carried. */
  #next: LoanBook;
  #current: LoanBook | null = null;
  /** Those of which something is left to be done, and when their carrier was last heard of. */
  readonly #open = new Map<LoanBook, number>();
  #sinceMs = 0;
  #carried = false;
  #notBeforeMs = 0;

  constructor(nowMs: number) {
    this.#next = new LoanBook(nowMs);
  }

  /** A slot from what is lent; null: ask the Cell. */
  take(ask: Ask, nowMs: number): Borrowed | null {
    const book = this.#current;
    if (book === null) return null;
    const grant = book.take(ask, nowMs);
    return grant === null ? null : { grant, book };
  }

  /** The Cell granted a request at once that found nothing lent. */
  asked(ask: Ask, nowMs: number): void {
    (this.#current ?? this.#next).asked(ask, nowMs);
  }

  /** A book for which the calling request should open a session, and carry it; null: none is due. */
  due(nowMs: number): LoanBook | null {
    const heardMs = this.#open.get(this.#next);
    if (heardMs !== undefined && nowMs >= heardMs + FORSAKEN_MS) this.over(this.#next, true, nowMs);
    if (this.#carried || nowMs < this.#notBeforeMs) return null;
    if (this.#current === null) {
      if (!this.#next.warm) return null;
    } else {
      if (nowMs < this.#sinceMs + SESSION_MS) return null;
      this.#next = this.#current.successor(nowMs);
    }
    this.#carried = true;
    this.#open.set(this.#next, nowMs);
    return this.#next;
  }

  /** The carrier of the book's session is alive. */
  beat(book: LoanBook, nowMs: number): void {
    if (this.#open.has(book)) this.#open.set(book, nowMs);
  }

  /** A book whose carrier was cut off without a word: whoever is told so ends it. */
  forsaken(nowMs: number): LoanBook | null {
    for (const [book, heardMs] of this.#open) if (nowMs >= heardMs + FORSAKEN_MS) return book;
    return null;
  }

  /** Whether requests take their slots from the book now. */
  isServing(book: LoanBook): boolean {
    return book === this.#current;
  }

  /** The session of the book is open and has its first loans: it serves from now on, its predecessor lends no more. */
  serves(book: LoanBook, nowMs: number): void {
    if (book !== this.#next) return;
    this.#current?.stop();
    this.#current = book;
    this.#sinceMs = nowMs;
    this.#next = new LoanBook(nowMs);
    this.#carried = false;
  }

  /** The book lends no more, whether or not another follows; its session goes on until its requests have ended. */
  retire(book: LoanBook): void {
    if (book === this.#current) this.#current = null;
    book.stop();
  }

  /** The session of the book is over; `broken`: not of its own accord. Its rows may still have to be sent another way. */
  over(book: LoanBook, broken: boolean, nowMs: number): void {
    this.beat(book, nowMs);
    if (broken) this.#notBeforeMs = nowMs + PAUSE_MS;
    if (book === this.#current) this.#current = null;
    if (book !== this.#next) return;
    this.#next = new LoanBook(nowMs);
    this.#carried = false;
  }

  /** Nothing of the book is left to be done. */
  gone(book: LoanBook): void {
    this.#open.delete(book);
  }

  /** The request asks for a permit of its own. */
  leaving(requestId: string): void {
    for (const book of this.#open.keys()) book.leaving(requestId);
  }

  /** It has that permit. */
  left(requestId: string): void {
    for (const book of this.#open.keys()) book.left(requestId);
  }
}
