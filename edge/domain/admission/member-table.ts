/**
 * What one isolate knows of its requests at one Cell, and what it has not sent yet (docs/rules/admission.md#membership): plain
 * memory that outlives every session. Callers report events; the table returns the messages to send, and sends nothing itself.
 * Invariants: anything unanswered can be sent again; a row is kept until the Ledger has it, or until `rowSaved` says that it
 * went another way; every request that asks gets an answer, or learns that the Cell is unavailable.
 */
import { NewestById } from "../cell/recent-ids.ts";
import { mayBeKnown } from "./admission-entry.ts";
import type {
  AdmissionAnswer,
  CacheHitDecision,
  Departure,
  ExchangeAnswer,
  ExchangeMessage,
  RowRecord,
  SessionOpening,
} from "./exchange-messages.ts";
import { chargedTokens } from "./request-end.ts";
import type { AdmissionRequest, CacheHit, Decision, Grant, Settlement, Stale } from "./rpc.ts";

/** Most items of each kind in one message: an exchange must not delay those that follow. */
const MESSAGE_MAX = 512;
/**
 * After so many checks without a signal of its code a request is gone: each signals once a second, and the checks are a second
 * apart (session-holder.ts).
 */
const SILENT_LOOKS = 5;
/** Departures that are remembered while no Cell answers; a request beyond that is missing in the next session, which says the same. */
const DEPARTING_MAX = 20_000;

/** The reaction to each answer. */
const STANDS = { waiting: "waiting", granted: "running", refused: "refused", stale: "stale" } as const;

/** A request from its first admission request to its end. The object stays the same when the request asks again. */
interface OpenRequest {
  request: AdmissionRequest;
  /** `stale`: it has a place, and its records are read again. */
  stands: "asked" | (typeof STANDS)[keyof typeof STANDS];
  grant: Grant | null;
  /** It already knows that the Cell is unavailable. */
  wasTold: boolean;
  silentLooks: number;
  answered: PromiseWithResolvers<AdmissionAnswer>;
  decided: PromiseWithResolvers<Decision | Stale>;
}

interface ShownHit extends PromiseWithResolvers<CacheHitDecision> {
  readonly hit: CacheHit;
  readonly wasTold: boolean;
}

interface KeptRow {
  readonly settlement: Settlement;
  /** It is the row of a request that asked for no slot, and was not sent before. */
  readonly isRecord: boolean;
  /** Its request hands it in with a separate call. */
  readonly isUnderWay: boolean;
  readonly saved: PromiseWithResolvers<void>;
}

export class MemberTable {
  readonly #open = new Map<string, OpenRequest>();
  /** Departures that have no answer yet. */
  readonly #departing = new NewestById<Departure>(DEPARTING_MAX);
  readonly #shown = new Map<string, ShownHit>();
  readonly #rows = new Map<string, KeptRow>();
  /** The ids of the items to send, in order. Items that are answered meanwhile are skipped. */
  readonly #unsent = {
    asks: new Set<string>(),
    hits: new Set<string>(),
    returns: new Set<string>(),
    rows: new Set<string>(),
    departures: new Set<string>(),
  };
  #said = 0;
  #asks = 0;

  /** True when there is something to send. */
  get hasMessage(): boolean {
    return this.isUrgent || this.#unsent.rows.size + this.#unsent.departures.size > 0;
  }

  /** True when a request waits for the answer to an unsent message. */
  get isUrgent(): boolean {
    return this.#unsent.asks.size + this.#unsent.hits.size + this.#unsent.returns.size > 0;
  }

  /** True when no request is open, and nothing is left to send or receive. */
  get isEmpty(): boolean {
    return this.#open.size + this.#shown.size + this.#rows.size + this.#departing.size === 0 && !this.hasMessage;
  }

  has(requestId: string): boolean {
    return this.#open.has(requestId);
  }

  /** The requests that the Cell must know. */
  living(): Pick<SessionOpening, "waiting" | "running" | "others"> {
    return {
      waiting: this.#openIn("waiting", "stale"),
      running: this.#openIn("running", "refused"),
      others: [...this.#openIn("asked"), ...this.#rows.keys(), ...this.#departing.keys()],
    };
  }

  /** Whether a request waits for an answer and does not know yet that the Cell is unavailable. */
  get hasNewAsker(): boolean {
    const asking = [...this.#open.values()].filter(({ stands }) => stands === "asked");
    return [...asking, ...this.#shown.values()].some(({ wasTold }) => !wasTold);
  }

  /** Asks for a slot, or asks again. Rejects with what `failed` says, or when the request ends first. */
  async ask(request: AdmissionRequest): Promise<AdmissionAnswer> {
    const { requestId } = request;
    const known = this.#open.get(requestId);
    if (known !== undefined) close(known);
    // A departure that arrived after this would end the request. Without it the Cell may keep what the request had.
    this.#departing.delete(requestId);
    const answered = Promise.withResolvers<AdmissionAnswer>();
    const decided = Promise.withResolvers<Decision | Stale>();
    decided.promise.catch(() => undefined);
    const wasTold = request.again === true;
    this.#asks += 1;
    const numbered = { ...request, ask: this.#asks };
    // It may have a place that it does not know of.
    const shown = known === undefined ? numbered : { ...numbered, again: true };
    const asked: OpenRequest = {
      request: shown,
      stands: "asked",
      grant: null,
      wasTold,
      silentLooks: 0,
      answered,
      decided,
    };
    this.#open.set(requestId, known === undefined ? asked : Object.assign(known, asked));
    this.#unsent.asks.add(requestId);
    return await answered.promise;
  }

  /** The decision on a request that waits. Rejects with what `failedToDecide` says, or when the request ends first. */
  async decision(requestId: string): Promise<Decision | Stale> {
    const open = this.#open.get(requestId);
    if (open === undefined) throw new Error("the request has ended");
    return await open.decided.promise;
  }

  /**
   * Asks whether a stored answer may be sent, and hands its row in. Rejects with the error of `failed`; then its row goes
   * another way.
   */
  async hit(hit: CacheHit): Promise<CacheHitDecision> {
    const shown = { ...Promise.withResolvers<CacheHitDecision>(), hit, wasTold: hit.again === true };
    this.#shown.set(hit.row.request_id, shown);
    this.#unsent.hits.add(hit.row.request_id);
    return await shown.promise;
  }

  /** Ends a request. */
  end(settlement: Settlement): void {
    const { request_id: requestId } = settlement.row;
    const open = this.#open.get(requestId);
    this.#open.delete(requestId);
    if (open !== undefined) close(open);
    this.#keep(settlement);
    this.#unsent.rows.add(requestId);
  }

  /** Takes a row of a request that asked for no slot. */
  record(record: RowRecord): void {
    this.#keep({ ...record, actualTokens: chargedTokens(record.row) }, { isRecord: true });
    this.#unsent.rows.add(record.row.request_id);
  }

  /** Keeps a row that its request hands in itself. If the request's code is cut off first, the other requests hand the row in. */
  keep(record: RowRecord): void {
    this.#keep({ ...record, actualTokens: chargedTokens(record.row) }, { isUnderWay: true });
  }

  /** A holder starts: it hands in the rows of requests that may have been cut off before they did so themselves. */
  takeOver(): void {
    for (const [requestId, row] of this.#rows) {
      if (!row.isUnderWay) continue;
      this.#rows.set(requestId, { ...row, isUnderWay: false });
      this.#unsent.rows.add(requestId);
    }
  }

  /**
   * Removes a request whose code is gone, or that gives up what it has. `error`: the answer to a waiting request while the Cell
   * is unavailable.
   */
  depart(requestId: string, error?: Error): void {
    const open = this.#open.get(requestId);
    if (open === undefined) return;
    this.#open.delete(requestId);
    close(open, error);
    this.#departing.set(requestId, { requestId, isLost: error === undefined, held: heldBy(open) });
    this.#unsent.departures.add(requestId);
  }

  /** Signals that the code of the request is there; returns false when the request has ended. */
  signOf(requestId: string): () => boolean {
    const open = this.#open.get(requestId);
    return () => {
      if (open === undefined || this.#open.get(requestId) !== open) return false;
      open.silentLooks = 0;
      return true;
    };
  }

  /** Removes the requests whose code has given no sign for too long: the runtime may have ended it. */
  look(): void {
    for (const [requestId, open] of this.#open) {
      open.silentLooks += 1;
      if (open.silentLooks >= SILENT_LOOKS) this.depart(requestId);
    }
  }

  /** The message to send now; null if there is nothing to send. */
  take(): ExchangeMessage | null {
    const message = this.first();
    const { n: _, ...lists } = message;
    return Object.values(lists).some(({ length }) => length > 0) ? message : null;
  }

  /** The first message of a session, which may have nothing to say. */
  first(): ExchangeMessage {
    const { asks, hits, returns, rows, departures } = this.#unsent;
    const kept = take(rows, (requestId) => this.#rows.get(requestId));
    this.#said += 1;
    return {
      n: this.#said,
      ends: kept.flatMap(({ settlement, isRecord }) => (isRecord ? [] : settlement)),
      records: kept.flatMap(({ settlement, isRecord }) => (isRecord ? settlement : [])),
      departures: take(departures, (requestId) => this.#departing.get(requestId)),
      hits: take(hits, (requestId) => this.#shown.get(requestId)?.hit),
      returns: take(returns, (requestId) => heldBy(this.#open.get(requestId))),
      asks: take(asks, (requestId) => {
        const open = this.#open.get(requestId);
        return open?.stands === "asked" ? open.request : null;
      }),
    };
  }

  /** A session is lost: everything unanswered is sent again. */
  sendAgain(): void {
    const { asks, hits, returns, rows, departures } = this.#unsent;
    for (const unsent of [asks, hits, returns, rows, departures]) unsent.clear();
    for (const [requestId, open] of this.#open) {
      if (open.stands !== "asked") continue;
      // The Cell may have taken it back already; then the Cell's answer is to this request.
      open.request = { ...open.request, again: true, anew: false };
      asks.add(requestId);
    }
    for (const [requestId, shown] of this.#shown) {
      this.#shown.set(requestId, { ...shown, hit: { ...shown.hit, again: true } });
      hits.add(requestId);
    }
    for (const [requestId, row] of this.#rows) {
      this.#rows.set(requestId, { ...row, isRecord: false });
      rows.add(requestId);
    }
    for (const requestId of this.#departing.keys()) departures.add(requestId);
  }

  /**
   * Takes an answer to a message. Returns the rows to send another way. `isOld`: the next session may be with another life of
   * the Cell, which does not know of the grants in this answer.
   */
  applyAnswer(
    { decided, hits, stored, refused, unknown }: ExchangeAnswer,
    departures: readonly Departure[] = [],
    isOld = false,
  ): readonly RowRecord[] {
    // A request that asked again meanwhile may be departing again.
    for (const departure of departures)
      if (this.#departing.get(departure.requestId) === departure) this.#departing.delete(departure.requestId);
    for (const [requestId, answer, ask] of decided) {
      if (this.#decided(requestId, answer, ask) && isOld && answer.verdict === "granted")
        this.#unsent.returns.add(requestId);
    }
    for (const [requestId, verdict] of hits) {
      const shown = this.#shown.get(requestId);
      if (shown === undefined) continue;
      this.#shown.delete(requestId);
      if (verdict.verdict === "current") this.#keep({ row: shown.hit.row, actualTokens: 0 });
      shown.resolve(verdict);
    }
    for (const requestId of unknown) if (this.#open.has(requestId)) this.#unsent.returns.add(requestId);
    for (const requestId of stored) this.rowSaved(requestId);
    return refused.flatMap((requestId) => this.#rows.get(requestId)?.settlement ?? []);
  }

  /** The Cell is unavailable: each request that asks it learns so. */
  failed(error: Error): void {
    // The Cell may have it nevertheless.
    for (const requestId of this.#openIn("asked")) this.depart(requestId, error);
    for (const { reject } of this.#shown.values()) reject(error);
    this.#shown.clear();
    this.#unsent.hits.clear();
  }

  /** The Cell has been unavailable for too long: requests that wait for a decision learn so. */
  failedToDecide(error: Error): void {
    for (const requestId of this.#openIn("waiting")) this.depart(requestId, error);
  }

  /** Every row that the Ledger may not have, except rows that their requests hand in themselves. */
  get rows(): readonly RowRecord[] {
    return [...this.#rows.values()].flatMap(({ settlement, isUnderWay }) => (isUnderWay ? [] : settlement));
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

  #openIn(...stands: readonly OpenRequest["stands"][]): string[] {
    return [...this.#open].flatMap(([requestId, open]) => (stands.includes(open.stands) ? requestId : []));
  }

  /** A second row of a request waits for the same answer. */
  #keep(settlement: Settlement, { isRecord = false, isUnderWay = false } = {}): void {
    const { request_id: requestId } = settlement.row;
    const saved = this.#rows.get(requestId)?.saved ?? Promise.withResolvers();
    this.#rows.set(requestId, { settlement, isRecord, isUnderWay, saved });
  }

  /**
   * Answers may overtake each other, come twice, and come after the request has asked again. By then another request may hold
   * what was granted to an earlier ask. False: the answer is not taken.
   */
  #decided(requestId: string, answer: AdmissionAnswer, ask: number | undefined): boolean {
    const open = this.#open.get(requestId);
    if (open === undefined || (open.stands !== "asked" && open.stands !== "waiting")) return false;
    if (ask !== undefined && ask !== open.request.ask) return false;
    const asked = open.stands === "asked";
    if (answer.verdict === "granted") open.grant = answer.grant;
    open.stands = STANDS[answer.verdict];
    // A request that has no place yet gets none by a stale answer.
    if (asked && answer.verdict === "stale" && !mayBeKnown(open.request)) this.#open.delete(requestId);
    if (asked) open.answered.resolve(answer);
    else if (answer.verdict !== "waiting") open.decided.resolve(answer);
    return true;
  }
}

/** Takes ids out of a list, as many as a message may have, and returns those that still need a message. */
function take<T>(unsent: Set<string>, of: (requestId: string) => T | null | undefined): T[] {
  const items: T[] = [];
  for (const requestId of unsent) {
    if (items.length === MESSAGE_MAX) break;
    unsent.delete(requestId);
    const item = of(requestId) ?? null;
    if (item !== null) items.push(item);
  }
  return items;
}

/** The request with its grant, as another life of the Cell learns of it; null: it was granted nothing. */
function heldBy(open: OpenRequest | undefined): AdmissionRequest | null {
  if (open?.stands !== "running" || open.grant === null) return null;
  const { request, grant } = open;
  const admission = request.row.admission === "boon" ? "boon" : grant.admission;
  const row = { ...request.row, admission, queue_wait_ms: grant.queueWaitMs } as const;
  return { ...request, row, waitedMs: request.waitedMs ?? 0 };
}

/** The request ends without the answers that it waits for. */
function close({ answered, decided }: OpenRequest, error = new Error("the request has ended")): void {
  answered.reject(error);
  decided.reject(error);
}
