/**
 * An isolate's books of one session with its Cell: its loans, the requests that run on them, and what is still to be told.
 * Invariants: no slot is taken after the loan's end or a recall; a request is running, told as ended, or somebody else's
 * business, never two of them; a row stays here until the Cell has called it durable, or is handed out to be sent another way.
 */
import type { Ask, Grant, Settlement } from "../ask.ts";
import { orphanedSettlement } from "../cell/permit-end.ts";
import { Demand } from "./demand.ts";
import { Loan, SPAN_MS, sameRevs, shapeKeyOf } from "./loan.ts";
import {
  type Ended,
  LOAN_MS,
  type Recall,
  type Renewal,
  type Shape,
  type Taken,
  type Told,
  type Wish,
} from "./messages.ts";

/** Loans are renewed when the last message is this old. */
const RENEW_MS = 150;

interface Runs {
  readonly loan: Loan;
  readonly taken: Taken;
  readonly sinceMs: number;
  told: boolean;
  /** It is about to have a permit of its own; its slot goes with it. */
  leaving: boolean;
}

export class LoanBook {
  readonly #loans = new Map<string, Loan>();
  readonly #byNumber = new Map<number, Loan>();
  readonly #asking = new Demand();
  readonly #running = new Map<string, Runs>();
  /** Ended and not yet durable. */
  readonly #unsafe = new Map<string, Settlement>();
  #untold = new Map<string, Taken>();
  #ended: Ended[] = [];
  #returned = new Map<number, number>();
  #dropped: number[] = [];
  #nextNumber = 1;
  #goodUntilMs = 0;
  #toldMs = 0;
  #spanEndsMs: number;
  #usedMs: number;
  #over = false;

  constructor(nowMs: number) {
    this.#toldMs = nowMs;
    this.#usedMs = nowMs;
    this.#spanEndsMs = nowMs + SPAN_MS;
  }

  /** When a request last took a slot, or would have liked to. */
  get usedMs(): number {
    return this.#usedMs;
  }

  /** A slot with everything the request reserves; null: ask the Cell. A loan built on other revisions is dropped. */
  take(ask: Ask, nowMs: number): Grant | null {
    const key = shapeKeyOf(ask);
    const loan = this.#loans.get(key);
    if (loan === undefined || this.#over) return null;
    if (!sameRevs(loan.shape.revs, ask.revs)) {
      this.#drop(key, loan);
      return null;
    }
    this.#usedMs = nowMs;
    if (nowMs >= this.#goodUntilMs) return null;
    const grant = loan.take(ask, nowMs);
    if (grant === null) return null;
    const { requestId, costTokens, estimate, row } = ask;
    const taken = { shape: loan.number, requestId, costTokens, estimate, row, need: loan.needOf(ask) };
    this.#running.set(requestId, { loan, taken, sinceMs: nowMs, told: false, leaving: false });
    this.#untold.set(requestId, taken);
    return grant;
  }

  /** The Cell granted a request at once that found no loan: enough of them make its shape worth one. */
  asked(ask: Ask, nowMs: number): void {
    this.#usedMs = nowMs;
    if (nowMs >= this.#spanEndsMs) this.#endSpan(nowMs);
    const key = shapeKeyOf(ask);
    if (this.#over || this.#loans.has(key)) return;
    this.#asking.count(key, ask, nowMs);
  }

  /** Whether some shape is asked for often enough to open a session for it. */
  get warm(): boolean {
    return this.#asking.warm;
  }

  /** The book of the session that follows on this one: it asks at once for what this one uses. */
  successor(nowMs: number): LoanBook {
    const next = new LoanBook(nowMs);
    for (const [key, { shape, demand, lastNeed }] of this.#loans) {
      next.#asking.know({ key, shape, slots: demand, need: lastNeed }, nowMs);
    }
    return next;
  }

  /**
   * The end of a request. False: its row has to go another way, because the request is none of this book's business (any
   * more), or because nobody may be there any more to tell: then it is told as well, for the books.
   */
  end(requestId: string, settlement: Settlement, nowMs: number): boolean {
    const runs = this.#running.get(requestId);
    if (runs === undefined || this.#over) return false;
    this.#running.delete(requestId);
    this.#untold.delete(requestId);
    const { loan, taken, told, leaving: left } = runs;
    if (!left) loan.back();
    const { shape, costTokens, need } = taken;
    const orphan = nowMs >= this.#goodUntilMs;
    this.#ended.push({
      requestId,
      taken: told ? null : { shape, requestId, costTokens, need },
      settlement,
      orphan,
      left,
    });
    if (!orphan) this.#unsafe.set(requestId, settlement);
    return !orphan;
  }

  /**
   * A request gave up without a settlement: it ends as one whose permit was lost. Answers what has to go another way, as for
   * {@link end}; null: nothing.
   */
  abandon(requestId: string, nowMs: number): Settlement | null {
    const runs = this.#running.get(requestId);
    if (runs === undefined) return null;
    const state = { granted: true, upstreamCalled: true, arrivedMs: runs.sinceMs };
    const { row, actualTokens } = orphanedSettlement(runs.taken, state, nowMs);
    const settlement: Settlement = { row: { ...row, admission: "fast" }, actualTokens };
    return this.end(requestId, settlement, nowMs) ? null : settlement;
  }

  /** A request asks for a permit of its own: whatever comes of that, its slot is no longer this book's. */
  leaving(requestId: string): void {
    const runs = this.#running.get(requestId);
    if (runs === undefined || runs.leaving) return;
    runs.leaving = true;
    runs.loan.gone();
  }

  /** It has its permit: nothing more of it is to be told here. */
  left(requestId: string): void {
    const runs = this.#running.get(requestId);
    this.#running.delete(requestId);
    // Nobody needs to be told that it had taken a slot: the slot comes back free.
    if (this.#untold.delete(requestId) && runs !== undefined) this.#return(runs.loan, 1);
  }

  /** Lets go at once of the loans that are built on the records, or of all. */
  recall({ items }: Recall): void {
    const named = (loan: Loan) =>
      items === null ||
      items.some(({ kind, id }) =>
        loan.shape.revs.some((rev) => rev.kind === kind && (kind === "all" || rev.id === id)),
      );
    for (const [key, loan] of this.#loans) if (named(loan)) this.#drop(key, loan);
  }

  /** What is to be told now; null: nothing. The answer, or the failure, has to come before the next call. */
  message(nowMs: number): Told | null {
    if (nowMs >= this.#spanEndsMs) this.#endSpan(nowMs);
    const shapes = this.#openWarm(nowMs);
    const wishes = [...this.#loans.values()].flatMap((loan): readonly Wish[] => {
      const wish = loan.wish(nowMs);
      return wish === null ? [] : [wish];
    });
    const told: Told = {
      shapes,
      taken: [...this.#untold.values()],
      ended: this.#ended,
      returned: [...this.#returned],
      dropped: this.#dropped,
      wishes,
    };
    const nothing = Object.values(told).every((part) => part.length === 0);
    const open = this.#loans.size > 0 || this.#unsafe.size > 0;
    if (nothing && (nowMs < this.#toldMs + RENEW_MS || !open)) return null;
    for (const { requestId } of told.taken) {
      const runs = this.#running.get(requestId);
      if (runs !== undefined) runs.told = true;
    }
    this.#untold = new Map();
    this.#ended = [];
    this.#returned = new Map();
    this.#dropped = [];
    this.#toldMs = nowMs;
    return told;
  }

  /** The Cell's answer to the message that was sent at `sentMs`. */
  answered({ lent, durable, expired, called }: Renewal, sentMs: number, nowMs: number): void {
    if (expired) this.stop();
    for (const [key, loan] of this.#loans) if (called.includes(loan.number)) this.#drop(key, loan);
    this.#goodUntilMs = sentMs + LOAN_MS;
    for (const requestId of durable) this.#unsafe.delete(requestId);
    for (const given of lent) {
      // Dropped while the answer was under way: what it brings goes back with the next message, which says so.
      this.#byNumber.get(given.shape)?.lent(given, nowMs);
    }
  }

  /** Nothing is lent any more from here on; the session goes on until its requests have ended. */
  stop(): void {
    for (const [key, loan] of this.#loans) this.#drop(key, loan);
    this.#asking.clear();
  }

  /** The session is over: nothing is told any more. Answers the settlements that may not be {@link safe}, to go another way. */
  finish(): readonly Settlement[] {
    this.#over = true;
    this.#untold.clear();
    this.#ended = [];
    return [...this.#unsafe.values()];
  }

  /** The row of a request is on its way. */
  safe(requestId: string): void {
    this.#unsafe.delete(requestId);
  }

  /** Whether it was given up: what its requests took and did is not told any more. */
  get isOver(): boolean {
    return this.#over;
  }

  /** Whether a request runs on it. */
  get inUse(): boolean {
    return this.#running.size > 0;
  }

  /** Whether everything has been told and is durable. */
  get settled(): boolean {
    return this.#running.size === 0 && this.#unsafe.size === 0;
  }

  #return({ number }: Loan, slots: number): void {
    if (slots > 0) this.#returned.set(number, slots + (this.#returned.get(number) ?? 0));
  }

  #drop(key: string, loan: Loan): void {
    this.#loans.delete(key);
    this.#byNumber.delete(loan.number);
    this.#dropped.push(loan.number);
  }

  #openWarm(nowMs: number): readonly (readonly [number, Shape])[] {
    const opened: [number, Shape][] = [];
    for (const { key, shape, slots, need } of this.#asking.takeWarm(nowMs)) {
      const loan = new Loan(this.#nextNumber, shape, slots, need);
      this.#nextNumber += 1;
      this.#loans.set(key, loan);
      this.#byNumber.set(loan.number, loan);
      opened.push([loan.number, shape]);
    }
    return opened;
  }

  #endSpan(nowMs: number): void {
    this.#spanEndsMs = nowMs + SPAN_MS;
    this.#asking.clear();
    for (const [key, loan] of this.#loans) {
      const surplus = loan.endSpan();
      if (surplus === null) this.#drop(key, loan);
      else this.#return(loan, surplus);
    }
  }
}
