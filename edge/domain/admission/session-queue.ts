/**
 * What one session of an isolate still has to say, and what it waits to hear: asks and hits without an answer, requests that
 * are open in it, rows that are not stored yet. It is told what happened, and answers what is to be sent; it sends nothing
 * itself. Invariants: a row is kept here until the Ledger has it, or whoever sends it another way has said so; whoever waits is
 * answered, at the latest when the session is over; a request is open here, or somebody else's business.
 */

import type {
  AdmissionAnswer,
  CacheHitDecision,
  ExchangeAnswer,
  ExchangeMessage,
  RowRecord,
} from "./exchange-messages.ts";
import type { AdmissionRequest, CacheHit, Decision, Settlement, Stale } from "./rpc.ts";

/** Most of each kind in one message: an exchange must not hold up those that follow. */
const MESSAGE_MAX = 512;

/** What a request hears of its session. */
export interface PendingAdmission {
  /** Null: the session cannot tell; ask another way. */
  readonly answer: Promise<AdmissionAnswer | null>;
  /** Of a request that waits; null: the session is over, or says no more of it. */
  readonly decision: Promise<Decision | Stale | null>;
  /** Resolves when the session is over while the request is open in it. */
  readonly lost: Promise<void>;
}

/** A request that was asked for. */
interface OpenRequest {
  stands: "asked" | "waiting" | "decided";
  readonly answered: PromiseWithResolvers<AdmissionAnswer | null>;
  readonly decided: PromiseWithResolvers<Decision | Stale | null>;
  readonly lost: PromiseWithResolvers<void>;
}

export class SessionQueue {
  #ends: Settlement[] = [];
  #departures: string[] = [];
  #records: RowRecord[] = [];
  #hits: CacheHit[] = [];
  #asks: AdmissionRequest[] = [];
  readonly #open = new Map<string, OpenRequest>();
  readonly #shown = new Map<string, PromiseWithResolvers<CacheHitDecision | null>>();
  readonly #rows = new Map<string, RowRecord>();
  #saysNoMore = false;
  #over = false;

  /** Nothing can be said here any more. */
  get isOver(): boolean {
    return this.#over;
  }

  /** Something is to be sent. */
  get hasMessage(): boolean {
    return this.isUrgent || this.#ends.length + this.#departures.length + this.#records.length > 0;
  }

  /** Somebody waits for the answer to what is to be sent. */
  get isUrgent(): boolean {
    return this.#asks.length + this.#hits.length > 0;
  }

  /** No request is open, nothing is to be sent or heard. */
  get isEmpty(): boolean {
    return this.#open.size + this.#shown.size + this.#rows.size === 0 && !this.hasMessage;
  }

  /** Asks for a slot. */
  request(ask: AdmissionRequest): PendingAdmission {
    const answered = Promise.withResolvers<AdmissionAnswer | null>();
    const decided = Promise.withResolvers<Decision | Stale | null>();
    const lost = Promise.withResolvers<void>();
    this.#asks.push(ask);
    this.#open.set(ask.requestId, { stands: "asked", answered, decided, lost });
    return { answer: answered.promise, decision: decided.promise, lost: lost.promise };
  }

  /** Asks whether a stored answer may be sent, and hands its row in. Null: the session cannot tell, and may have the row. */
  async hit(hit: CacheHit): Promise<CacheHitDecision | null> {
    const shown = Promise.withResolvers<CacheHitDecision | null>();
    this.#hits.push(hit);
    this.#shown.set(hit.row.request_id, shown);
    this.#rows.set(hit.row.request_id, { row: hit.row });
    return await shown.promise;
  }

  /** A request ended. False: it is not open here (any more), its row has to go another way. */
  end(settlement: Settlement): boolean {
    const { row, upstream } = settlement;
    if (!this.#open.delete(row.request_id)) return false;
    this.#ends.push(settlement);
    this.#rows.set(row.request_id, { row, upstream });
    return true;
  }

  /** A row of a request that has no permit. False: it has to go another way. */
  record(record: RowRecord): boolean {
    if (this.#over) return false;
    this.#records.push(record);
    this.#rows.set(record.row.request_id, record);
    return true;
  }

  /** A request goes without an end of its own. A no-op for one that is not open here. */
  depart(requestId: string): void {
    if (this.#open.delete(requestId)) this.#departures.push(requestId);
  }

  /** A request has a permit of its own, or is to get one: nothing more of it is said here. */
  leave(requestId: string): void {
    this.#open.delete(requestId);
    this.#asks = this.#asks.filter((ask) => ask.requestId !== requestId);
  }

  /** Nothing more is decided here: whoever waits is told so. */
  stopDecisions(): void {
    this.#saysNoMore = true;
    for (const { stands, decided } of this.#open.values()) if (stands === "waiting") decided.resolve(null);
  }

  /** What is to be sent now; null when there is nothing. */
  take(): ExchangeMessage | null {
    if (this.#over || !this.hasMessage) return null;
    const take = <T>(list: T[]): T[] => list.splice(0, MESSAGE_MAX);
    return {
      ends: take(this.#ends),
      departures: take(this.#departures),
      records: take(this.#records),
      hits: take(this.#hits),
      asks: take(this.#asks),
    };
  }

  /** Takes an answer, and the asks that it is the answer to. Answers the rows that are to be sent another way. */
  applyAnswer(
    { decided, hits, stored, refused }: ExchangeAnswer,
    asks: readonly AdmissionRequest[] = [],
  ): readonly RowRecord[] {
    for (const [requestId, answer] of decided) this.#decided(requestId, answer);
    for (const { requestId } of asks) this.#unheard(requestId);
    for (const [requestId, verdict] of hits) {
      this.#shown.get(requestId)?.resolve(verdict);
      this.#shown.delete(requestId);
      if (verdict.verdict === "stale") this.#rows.delete(requestId);
    }
    for (const requestId of stored) this.#rows.delete(requestId);
    return refused.flatMap((requestId) => this.#rows.get(requestId) ?? []);
  }

  /** The row has gone another way. */
  rowSaved(requestId: string): void {
    this.#rows.delete(requestId);
  }

  /** The session is over: whoever waits is told so. Answers the rows that are not {@link rowSaved}, to be sent another way. */
  close(): readonly RowRecord[] {
    this.#over = true;
    for (const { answered, decided, lost } of this.#open.values()) {
      answered.resolve(null);
      decided.resolve(null);
      lost.resolve();
    }
    this.#open.clear();
    for (const [requestId, shown] of this.#shown) {
      shown.resolve(null);
      this.#rows.delete(requestId);
    }
    this.#shown.clear();
    return [...this.#rows.values()];
  }

  /** Answers of a session may overtake each other: what says that a request waits may come after its decision. */
  #decided(requestId: string, answer: AdmissionAnswer): void {
    const request = this.#open.get(requestId);
    if (request === undefined || request.stands === "decided") return;
    const isFirst = request.stands === "asked";
    request.stands = answer.verdict === "waiting" ? "waiting" : "decided";
    if (request.stands === "waiting" && this.#saysNoMore) request.decided.resolve(null);
    if (isFirst) request.answered.resolve(answer);
    else if (answer.verdict !== "waiting") request.decided.resolve(answer);
    // Whoever was told so in the answer to its ask has no place here.
    if (isFirst && answer.verdict === "stale") this.#open.delete(requestId);
  }

  #unheard(requestId: string): void {
    const request = this.#open.get(requestId);
    if (request?.stands !== "asked") return;
    this.#open.delete(requestId);
    request.answered.resolve(null);
  }
}
