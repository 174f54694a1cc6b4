/**
 * What one session of an isolate still has to send, and what it waits for: admission requests and cache hits without an
 * answer, requests that are open in it, rows that are not stored yet. Callers report what happened; it returns what is to
 * be sent, and sends nothing itself. Invariants: a row is kept here until the Ledger has it, or until `rowSaved` says that
 * it was sent in another way; every waiting request is answered, at the latest when the session is over; a request that is
 * not open here is handled elsewhere.
 */

import type {
  AdmissionAnswer,
  CacheHitDecision,
  ExchangeAnswer,
  ExchangeMessage,
  RowRecord,
} from "./exchange-messages.ts";
import type { AdmissionRequest, CacheHit, Decision, Settlement, Stale } from "./rpc.ts";

/** Most items of each kind in one message: an exchange must not delay those that follow. */
const MESSAGE_MAX = 512;

/** What a request learns from its session. */
export interface PendingAdmission {
  /** Null: the session cannot answer; send the request in another way. */
  readonly answer: Promise<AdmissionAnswer | null>;
  /** Of a request that waits; null: the session is over, or sends no more decisions. */
  readonly decision: Promise<Decision | Stale | null>;
  /** Resolves when the session is over while the request is open in it. */
  readonly lost: Promise<void>;
}

/** A request that was sent in this session. */
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
  #requests: AdmissionRequest[] = [];
  readonly #open = new Map<string, OpenRequest>();
  readonly #shown = new Map<string, PromiseWithResolvers<CacheHitDecision | null>>();
  readonly #rows = new Map<string, { readonly record: RowRecord; readonly saved: PromiseWithResolvers<void> }>();
  #saysNoMore = false;
  #over = false;

  /** True when the session can send nothing more. */
  get isOver(): boolean {
    return this.#over;
  }

  /** True when something is to be sent. */
  get hasMessage(): boolean {
    return this.isUrgent || this.#ends.length + this.#departures.length + this.#records.length > 0;
  }

  /** True when a request waits for the answer to what is to be sent. */
  get isUrgent(): boolean {
    return this.#requests.length + this.#hits.length > 0;
  }

  /** True when no request is open, and nothing is to be sent or received. */
  get isEmpty(): boolean {
    return this.#open.size + this.#shown.size + this.#rows.size === 0 && !this.hasMessage;
  }

  /** Sends an admission request. */
  request(request: AdmissionRequest): PendingAdmission {
    const answered = Promise.withResolvers<AdmissionAnswer | null>();
    const decided = Promise.withResolvers<Decision | Stale | null>();
    const lost = Promise.withResolvers<void>();
    this.#requests.push(request);
    this.#open.set(request.requestId, { stands: "asked", answered, decided, lost });
    return { answer: answered.promise, decision: decided.promise, lost: lost.promise };
  }

  /**
   * Asks whether a stored answer may be sent, and hands its row in. Null: the session cannot answer, and may have the row.
   */
  async hit(hit: CacheHit): Promise<CacheHitDecision | null> {
    const shown = Promise.withResolvers<CacheHitDecision | null>();
    this.#hits.push(hit);
    this.#shown.set(hit.row.request_id, shown);
    this.#keep({ row: hit.row });
    return await shown.promise;
  }

  /** Ends a request. False: it is not open here (any more), and its row has to go another way. */
  end(settlement: Settlement): boolean {
    const { row, upstream } = settlement;
    if (!this.#open.delete(row.request_id)) return false;
    this.#ends.push(settlement);
    this.#keep({ row, upstream });
    return true;
  }

  /** Takes a row of a request that has no permit. False: it has to go another way. */
  record(record: RowRecord): boolean {
    if (this.#over) return false;
    this.#records.push(record);
    this.#keep(record);
    return true;
  }

  /** Removes a request that leaves without an end of its own. Does nothing for one that is not open here. */
  depart(requestId: string): void {
    if (this.#open.delete(requestId)) this.#departures.push(requestId);
  }

  /** Forgets a request that has a permit of its own, or is to get one. */
  leave(requestId: string): void {
    this.#open.delete(requestId);
    this.#requests = this.#requests.filter((request) => request.requestId !== requestId);
  }

  /** Stops decisions in this session: waiting requests get null. */
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
      asks: take(this.#requests),
    };
  }

  /** Takes an answer, with the admission requests that it answers. Returns the rows that are to be sent another way. */
  applyAnswer(
    { decided, hits, stored, refused }: ExchangeAnswer,
    requests: readonly AdmissionRequest[] = [],
  ): readonly RowRecord[] {
    for (const [requestId, answer] of decided) this.#decided(requestId, answer);
    for (const { requestId } of requests) this.#unheard(requestId);
    for (const [requestId, verdict] of hits) {
      this.#shown.get(requestId)?.resolve(verdict);
      this.#shown.delete(requestId);
      if (verdict.verdict === "stale") this.rowSaved(requestId);
    }
    for (const requestId of stored) this.rowSaved(requestId);
    return refused.flatMap((requestId) => this.#rows.get(requestId)?.record ?? []);
  }

  /** Resolves when a row that was handed in is stored, or was sent another way. */
  async saved(requestId: string): Promise<void> {
    await this.#rows.get(requestId)?.saved.promise;
  }

  /** Notes that the row is stored, or has gone another way. */
  rowSaved(requestId: string): void {
    this.#rows.get(requestId)?.saved.resolve();
    this.#rows.delete(requestId);
  }

  /**
   * Closes the session: waiting requests get null. Returns the rows that are not {@link rowSaved}, to be sent another way.
   */
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
      this.rowSaved(requestId);
    }
    this.#shown.clear();
    return Array.from(this.#rows.values(), ({ record }) => record);
  }

  #keep(record: RowRecord): void {
    this.#rows.set(record.row.request_id, { record, saved: Promise.withResolvers() });
  }

  /** Answers of a session may overtake each other: the answer that a request waits may come after its decision. */
  #decided(requestId: string, answer: AdmissionAnswer): void {
    const request = this.#open.get(requestId);
    if (request === undefined || request.stands === "decided") return;
    const isFirst = request.stands === "asked";
    request.stands = answer.verdict === "waiting" ? "waiting" : "decided";
    if (request.stands === "waiting" && this.#saysNoMore) request.decided.resolve(null);
    if (isFirst) request.answered.resolve(answer);
    else if (answer.verdict !== "waiting") request.decided.resolve(answer);
    // A request that was stale in its first answer has no place here.
    if (isFirst && answer.verdict === "stale") this.#open.delete(requestId);
  }

  #unheard(requestId: string): void {
    const request = this.#open.get(requestId);
    if (request?.stands !== "asked") return;
    this.#open.delete(requestId);
    request.answered.resolve(null);
  }
}
