/**
 * The Cell's side of loans: what each session holds, and what becomes of it. Pure: slots are the scheduler's, tokens the
 * wallet's, requests the desk's ({@link LoanBooks}); this file keeps who has what. Invariants: a lent slot is free in exactly
 * one loan, or in use by exactly one request; no slot of a session comes back before nobody can take it any more - it was
 * returned, or the loan has ended on every clock; a request of a lost session is settled once.
 */
import type { RevItem } from "../../../shared/internal.ts";
import type { Ask, Settlement } from "../ask.ts";
import type { Amounts } from "../budget/amounts.ts";
import type { BudgetLimits } from "../budget/limits.ts";
import type { BucketLevel } from "../budget/token-bucket.ts";
import { Elsewhere } from "./elsewhere.ts";
import {
  type Ended,
  type Lent,
  LOAN_MARGIN_MS,
  LOAN_MS,
  type Renewal,
  type Shape,
  type Taken,
  type Told,
  type Wish,
} from "./messages.ts";

/** Nothing is lent for this long after somebody had to wait for what was lent. */
const CALM_MS = 500;
/** A lost session's requests have this long, after its loans have ended, to be claimed by their own code. */
export const CLAIM_MS = 1_000;

/** What the lender needs of the Cell. */
export interface LoanBooks {
  /** A slot under `lentId` for requests of the shape; false: there is none to spare. */
  lend(lentId: string, shape: Shape): boolean;
  unlend(lentId: string): void;
  allow(loanId: string, limits: BudgetLimits, want: Amounts, atLeast: Amounts): Allowance | null;
  /** The rest of an allowance comes back unused. */
  takeBack(loanId: string, limits: BudgetLimits): void;
  /** The rest of an allowance counts as spent: nobody can say what became of it. */
  writeOff(loanId: string, limits: BudgetLimits): void;
  /** A request took the slot, with its need of the allowance. False: it has a seat of its own, and uses neither. */
  occupy(lentId: string, loanId: string, ask: Ask): boolean;
  /** The request ended; its slot is lent again. Its row is taken care of also when it has no seat any more. */
  end(requestId: string, settlement: Settlement, orphan: boolean): void;
  /** The request's code is gone: settled as a lost permit is. A no-op without a seat. */
  abandon(requestId: string): void;
  /** Whether a record of the shape has changed since. */
  stale(revs: readonly RevItem[]): boolean;
}

export interface Allowance {
  readonly amounts: Amounts;
  readonly level: BucketLevel | null;
}

interface LoanState {
  readonly id: string;
  readonly shape: Shape;
  readonly free: string[];
  /** Nothing is added: it has ended, was dropped, or was called in. */
  closed: boolean;
  /** Nobody can take a slot of it any more: it was dropped, or has ended on every clock. What is free comes back. */
  over: boolean;
  /** Called in, and not yet dropped as far as is known. */
  called: boolean;
  allowed: boolean;
}

interface Occupied {
  readonly lentId: string;
  readonly loan: LoanState;
  /** No slot was lent for it: it is one too many, and not to be used again. */
  readonly extra: boolean;
}

/** What the lender knows of one session. */
export interface SessionState {
  readonly id: string;
  readonly loans: Map<number, LoanState>;
  /** Requests that run on lent slots. */
  readonly occupied: Map<string, Occupied>;
  goodUntilMs: number;
  /** Its free slots were taken back at the end of its loans; it does not know yet. */
  expired: boolean;
  lostAtMs: number | null;
}

export class Lender {
  readonly #books: LoanBooks;
  readonly #sessions = new Set<SessionState>();
  readonly #elsewhere = new Elsewhere();
  #nextId = 1;
  #calmFromMs = 0;

  constructor(books: LoanBooks) {
    this.#books = books;
  }

  /** Sessions that are open, or lost and not yet settled. */
  get sessions(): ReadonlySet<SessionState> {
    return this.#sessions;
  }

  open(nowMs: number): SessionState {
    const [id, goodUntilMs] = [this.#newId("s"), nowMs + LOAN_MS + LOAN_MARGIN_MS];
    const state: SessionState = {
      id,
      loans: new Map(),
      occupied: new Map(),
      goodUntilMs,
      expired: false,
      lostAtMs: null,
    };
    this.#sessions.add(state);
    return state;
  }

  /** Takes a message and renews the session. */
  told(session: SessionState, told: Told, nowMs: number): Omit<Renewal, "durable"> {
    const { expired } = session;
    session.expired = false;
    session.goodUntilMs = nowMs + LOAN_MS + LOAN_MARGIN_MS;
    for (const [number, shape] of told.shapes) {
      const id = this.#newId("l");
      session.loans.set(number, { id, shape, free: [], closed: false, over: false, called: false, allowed: false });
    }
    // Those who took a slot may have it from those who ended since the last message.
    for (const ended of told.ended) this.#end(session, ended);
    for (const taken of told.taken) this.#occupy(session, taken, taken, false);
    for (const [number, slots] of told.returned) this.#unlend(session.loans.get(number)?.free.splice(0, slots) ?? []);
    for (const number of told.dropped) this.#close(session.loans.get(number));
    const lent = expired ? [] : told.wishes.map((wish) => this.#lend(session, wish, nowMs));
    const called = [...session.loans].flatMap(([number, loan]) => (loan.called ? [number] : []));
    return { lent, expired, called };
  }

  /** The session says good-bye: everything free comes back, what still runs is settled as lost. */
  close(session: SessionState, told: Told, nowMs: number): void {
    this.told(session, { ...told, wishes: [] }, nowMs);
    for (const loan of session.loans.values()) this.#close(loan);
    this.#settleRest(session);
    this.#sessions.delete(session);
  }

  /** The session's holder is gone without a word. Its slots wait until no clock can take them any more. */
  lost(session: SessionState, nowMs: number): void {
    if (this.#sessions.has(session)) session.lostAtMs ??= nowMs;
  }

  /** Ends what has expired; call it at {@link nextWakeMs}. */
  tick(nowMs: number): void {
    for (const session of this.#sessions) {
      if (nowMs < session.goodUntilMs) continue;
      session.expired = true;
      for (const loan of session.loans.values()) {
        this.#over(loan);
        if (session.lostAtMs !== null) this.#writeOff(loan);
      }
      // Of requests whose rows came another way before it was known to be lost; no others are lent.
      if (session.lostAtMs !== null) this.#unlend([...session.occupied.values()].map(({ lentId }) => lentId));
      if (session.lostAtMs === null || nowMs < session.goodUntilMs + CLAIM_MS) continue;
      this.#settleRest(session);
      this.#sessions.delete(session);
    }
  }

  /** When something expires next; null: never. */
  nextWakeMs(nowMs: number): number | null {
    let next: number | null = null;
    for (const { goodUntilMs, lostAtMs, loans } of this.#sessions) {
      const ends = goodUntilMs > nowMs ? goodUntilMs : goodUntilMs + CLAIM_MS;
      const due = lostAtMs !== null || (goodUntilMs > nowMs && loans.size > 0) ? ends : null;
      if (due !== null && (next === null || due < next)) next = due;
    }
    return next;
  }

  /** Open sessions that hold loans built on any of the records (null: any loan); those loans grow no more. */
  recall(items: readonly RevItem[] | null, nowMs: number): readonly SessionState[] {
    if (items === null) this.#calmFromMs = nowMs + CALM_MS;
    return [...this.#sessions].filter((session) => {
      let any = false;
      for (const loan of session.loans.values()) {
        // One that is called in already is waited for again: the first call may be under way still.
        if ((loan.closed && !loan.called) || !isNamed(loan.shape.revs, items)) continue;
        loan.closed = true;
        loan.called = true;
        any = true;
      }
      return any && nowMs < session.goodUntilMs;
    });
  }

  /** The request got a permit of its own: its slot is no session's any more. */
  left(requestId: string): void {
    for (const { occupied } of this.#sessions) if (occupied.delete(requestId)) return;
    if (this.#sessions.size > 0) this.#elsewhere.add(requestId, "permit");
  }

  /** The request's row came another way. In a session that is lost its slot waits with the free ones: another may have it. */
  settledElsewhere(requestId: string): void {
    if (this.#sessions.size > 0) this.#elsewhere.add(requestId, "row");
    for (const session of this.#sessions) if (session.lostAtMs !== null) this.#vacate(session, requestId, false);
  }

  #occupy(
    session: SessionState,
    taken: Omit<Taken, "row" | "estimate">,
    rest: Pick<Taken, "row" | "estimate">,
    ended: boolean,
  ): void {
    const loan = session.loans.get(taken.shape);
    if (loan === undefined) return;
    const free = loan.free.pop();
    const lentId = free ?? this.#newId("n");
    const { requestId, costTokens, need } = taken;
    // A row that came past its session charged nobody yet; a permit did.
    const way = this.#elsewhere.wayOf(requestId);
    const elsewhere = way === "permit" || (way === "row" && !ended);
    const ask = { ...loan.shape, ...rest, requestId, costTokens, need, openUntilMs: null, waitedMs: null };
    if (!elsewhere && this.#books.occupy(lentId, loan.id, ask)) {
      session.occupied.set(requestId, { lentId, loan, extra: free === undefined });
    } else this.#books.unlend(lentId);
  }

  #end(session: SessionState, { requestId, taken, settlement, orphan, left }: Ended): void {
    if (taken !== null) this.#occupy(session, taken, { row: settlement.row, estimate: NO_ESTIMATE }, true);
    this.#books.end(requestId, settlement, orphan || this.#elsewhere.wayOf(requestId) !== undefined);
    this.#vacate(session, requestId, left);
  }

  #vacate(session: SessionState, requestId: string, left: boolean): void {
    const held = session.occupied.get(requestId);
    if (held === undefined) return;
    session.occupied.delete(requestId);
    if (held.extra || left || held.loan.over) this.#books.unlend(held.lentId);
    else held.loan.free.push(held.lentId);
  }

  #lend(session: SessionState, wish: Wish, nowMs: number): Lent {
    const none = { shape: wish.shape, slots: 0, amounts: null, level: null };
    const loan = session.loans.get(wish.shape);
    if (loan === undefined || loan.closed || nowMs < this.#calmFromMs || this.#books.stale(loan.shape.revs))
      return none;
    // From the first ask on, whatever came of it: giving back nothing costs nothing.
    loan.allowed = true;
    const allowance = this.#books.allow(loan.id, loan.shape.limits, wish.amounts, wish.atLeast);
    if (allowance === null) return none;
    let slots = 0;
    for (; slots < wish.slots; slots += 1) {
      const lentId = this.#newId("n");
      if (!this.#books.lend(lentId, loan.shape)) break;
      loan.free.push(lentId);
    }
    return { shape: wish.shape, slots, ...allowance };
  }

  #over(loan: LoanState): void {
    loan.closed = true;
    loan.over = true;
    this.#unlend(loan.free.splice(0));
  }

  #close(loan: LoanState | undefined): void {
    if (loan === undefined) return;
    this.#over(loan);
    loan.called = false;
    if (loan.allowed) this.#books.takeBack(loan.id, loan.shape.limits);
    loan.allowed = false;
  }

  #writeOff(loan: LoanState): void {
    if (loan.allowed) this.#books.writeOff(loan.id, loan.shape.limits);
    loan.allowed = false;
  }

  #settleRest(session: SessionState): void {
    for (const [requestId, { lentId }] of session.occupied) {
      this.#books.abandon(requestId);
      this.#books.unlend(lentId);
    }
    session.occupied.clear();
  }

  #unlend(lentIds: readonly string[]): void {
    for (const lentId of lentIds) this.#books.unlend(lentId);
  }

  #newId(kind: string): string {
    const id = `${kind}${this.#nextId}`;
    this.#nextId += 1;
    return id;
  }
}

const NO_ESTIMATE: Ask["estimate"] = { inputTokens: 0, outputTokens: 0, costUsd: 0 };

function isNamed(revs: readonly RevItem[], items: readonly RevItem[] | null): boolean {
  if (items === null) return true;
  return items.some(({ kind, id }) => revs.some((rev) => rev.kind === kind && (kind === "all" || rev.id === id)));
}
