/**
 * The Cell's lending desk: sessions with isolates over RPC, their timers and their recalls (design §12). What is lent and
 * what becomes of it is the lender's decision; this file carries messages. Invariant: a recall is over when every isolate
 * that held such a loan has said so, or its loan has ended on every clock.
 */
import type { RevItem } from "../../shared/internal.ts";
import { Lender, type LoanBooks, type SessionState } from "../domain/loan/lender.ts";
import { type Debtor, LOAN_MARGIN_MS, LOAN_MS, type Recall, type Renewal, type Told } from "../domain/loan/messages.ts";

/** The debtor as the runtime hands it over: a stub that lives until it is disposed. */
export type DebtorStub = Debtor & Partial<Disposable> & { dup?: () => DebtorStub };

export interface LoanDeskOptions {
  readonly books: LoanBooks;
  readonly now: () => number;
  readonly later: (delayMs: number, run: () => void) => void;
  /** An earlier life of this Cell may have lent what this one knows nothing of. */
  readonly succeeds: boolean;
}

/** One session. Only the desk reads it; a capability just hands it back. */
export interface Session {
  readonly state: SessionState;
  readonly debtor: DebtorStub;
  /** Requests whose rows have become durable since the last answer. */
  durable: string[];
  /** Rows under way to the ledger. */
  readonly rows: Set<Promise<void>>;
}

export class LoanDesk {
  readonly #options: LoanDeskOptions;
  readonly #lender: Lender;
  readonly #sessions = new Map<SessionState, Session>();
  #current: Session | null = null;
  #wakeMs: number | null = null;
  #recalling = false;
  /** Until when loans of an earlier life may be good. */
  readonly #inheritedUntilMs: number;

  constructor(options: LoanDeskOptions) {
    this.#options = options;
    this.#inheritedUntilMs = options.succeeds ? options.now() + LOAN_MS + LOAN_MARGIN_MS : 0;
    this.#lender = new Lender(options.books);
  }

  open(debtor: DebtorStub): Session {
    const state = this.#lender.open(this.#options.now());
    const session: Session = { state, debtor: debtor.dup?.() ?? debtor, durable: [], rows: new Set() };
    this.#sessions.set(state, session);
    return session;
  }

  /** Throws for a session that is over: nothing would come back of what it were lent. */
  tell(session: Session, told: Told): Renewal {
    if (!this.#sessions.has(session.state)) throw new Error("the session is over");
    const renewal = this.#with(session, () => this.#lender.told(session.state, told, this.#options.now()));
    const durable = session.durable;
    session.durable = [];
    this.#arm();
    return { ...renewal, durable };
  }

  async close(session: Session, told: Told): Promise<void> {
    this.#with(session, () => this.#lender.close(session.state, told, this.#options.now()));
    this.#forget(session);
    await Promise.all(session.rows);
  }

  lost(session: Session): void {
    this.#lender.lost(session.state, this.#options.now());
    this.#forget(session);
    this.#arm();
  }

  /** The end of a request of the session that is just being served: its answer says when the row is durable. */
  track(requestId: string, row: Promise<void>): void {
    const session = this.#current;
    if (session === null) return void row.catch(() => undefined);
    const kept = row.then(
      () => void session.durable.push(requestId),
      // Not taken: its isolate keeps it and sends it another way.
      () => undefined,
    );
    session.rows.add(kept);
    void kept.finally(() => session.rows.delete(kept));
  }

  /** The request got a permit of its own. */
  left(requestId: string): void {
    this.#lender.left(requestId);
  }

  /** The request's row came another way. */
  settledElsewhere(requestId: string): void {
    this.#lender.settledElsewhere(requestId);
  }

  /** Resolves when nobody can take a slot of a loan that is built on any of the records (null: of any loan). */
  async recall(items: readonly RevItem[] | null): Promise<void> {
    const held = this.#lender.recall(items, this.#options.now());
    const recalls = held.map(async (state) => await this.#recallFrom(state, { items }));
    await Promise.all([this.#passed(this.#inheritedUntilMs), ...recalls]);
  }

  /** Somebody waits for what is lent: all of it is called in, once at a time. */
  async recallAll(): Promise<void> {
    if (this.#recalling) return;
    this.#recalling = true;
    try {
      await this.recall(null);
    } finally {
      this.#recalling = false;
    }
  }

  async #recallFrom(state: SessionState, recall: Recall): Promise<void> {
    const session = this.#sessions.get(state);
    const ended = this.#passed(state.goodUntilMs);
    if (session === undefined) return await ended;
    await Promise.race([ended, session.debtor.recall(recall).catch(async () => await ended)]);
  }

  async #passed(atMs: number): Promise<void> {
    const leftMs = atMs - this.#options.now();
    if (leftMs > 0) await new Promise<void>((resolve) => this.#options.later(leftMs, resolve));
  }

  #with<T>(session: Session, work: () => T): T {
    this.#current = session;
    try {
      return work();
    } finally {
      this.#current = null;
    }
  }

  #forget(session: Session): void {
    if (this.#sessions.delete(session.state)) session.debtor[Symbol.dispose]?.();
  }

  #arm(): void {
    const wakeMs = this.#lender.nextWakeMs(this.#options.now());
    if (wakeMs === null || (this.#wakeMs !== null && this.#wakeMs <= wakeMs)) return;
    this.#wakeMs = wakeMs;
    this.#options.later(Math.max(0, wakeMs - this.#options.now()), () => {
      this.#wakeMs = null;
      this.#lender.tick(this.#options.now());
      this.#arm();
    });
  }
}
