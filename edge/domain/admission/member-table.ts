/**
 * What one isolate knows of its requests at one Cell, and what it still has to tell (docs/rules/admission.md#membership): plain
 * memory that outlives every session. Callers report what happened; it returns what is to be sent, and sends nothing itself.
 * Invariants: whatever has no answer yet can be sent again; a row is kept until the Ledger has it, or until `rowSaved` says that it
 * went another way; every request that asks is answered, or told that the Cell is away.
 */
import type {
  AdmissionAnswer,
  CacheHitDecision,
  ExchangeAnswer,
  ExchangeMessage,
  Member,
  RowRecord,
} from "./exchange-messages.ts";
import { chargedTokens } from "./request-end.ts";
import type { AdmissionRequest, CacheHit, Decision, Grant, Settlement, Stale } from "./rpc.ts";

/** Most items of each kind in one message: an exchange must not delay those that follow. */
const MESSAGE_MAX = 512;
/**
 * After so many looks without a sign of its code a request is gone: each gives one in a second, and the looks are a second apart
 * (session-carrier.ts).
 */
const SILENT_LOOKS = 5;
/** Departures that are remembered while no Cell answers; a request beyond that is missing in the next session, which says the same. */
const DEPARTING_MAX = 20_000;

interface OpenRequest {
  request: AdmissionRequest;
  /** `judged again`: it has a place, and its records are read again. */
  stands: "asked" | "waiting" | "judged again" | "running" | "refused";
  grant: Grant | null;
  /** The Cell may have a place for it from before it asked. */
  mayHavePlace: boolean;
  /** The same from its first admission request to its end. */
  readonly life: object;
  silentLooks: number;
  answered: PromiseWithResolvers<AdmissionAnswer>;
  decided: PromiseWithResolvers<Decision | Stale>;
}

/** A request that leaves. `departures`: its code is gone; `withdrawals`: it was told that the Cell is away. */
interface Departure {
  readonly how: "departures" | "withdrawals";
  /** What it holds, of which another life of the Cell does not know; null: nothing that was granted. */
  readonly held: AdmissionRequest | null;
}

interface KeptRow {
  readonly settlement: Settlement;
  /** Its request hands it in by a call of its own. */
  readonly isUnderWay: boolean;
  readonly saved: PromiseWithResolvers<void>;
}

export class MemberTable {
  #ends: Settlement[] = [];
  #departures: string[] = [];
  #records: RowRecord[] = [];
  #hits: CacheHit[] = [];
  #returns: AdmissionRequest[] = [];
  #asks: AdmissionRequest[] = [];
  #said = 0;
  readonly #open = new Map<string, OpenRequest>();
  /** Departures and withdrawals of which no answer has come. */
  readonly #departing = new Map<string, Departure>();
  readonly #shown = new Map<string, PromiseWithResolvers<CacheHitDecision> & { readonly hit: CacheHit }>();
  readonly #rows = new Map<string, KeptRow>();

  /** True when something is to be sent. */
  get hasMessage(): boolean {
    return this.isUrgent || this.#ends.length + this.#departures.length + this.#records.length > 0;
  }

  /** True when a request waits for the answer to what is to be sent. */
  get isUrgent(): boolean {
    return this.#asks.length + this.#hits.length + this.#returns.length > 0;
  }

  /** True when no request is open, and nothing is to be sent or received. */
  get isEmpty(): boolean {
    return this.#open.size === 0 && this.isQuiet;
  }

  /** True when nothing is to be sent, and no answer is to come but decisions. */
  get isQuiet(): boolean {
    return this.#shown.size + this.#rows.size + this.#departing.size === 0 && !this.hasMessage;
  }

  has(requestId: string): boolean {
    return this.#open.has(requestId);
  }

  /** An object that stays the same while the request is open; undefined: it is not. */
  lifeOf(requestId: string): object | undefined {
    return this.#open.get(requestId)?.life;
  }

  /** The requests of which the Cell has to know. */
  living(): Pick<Member, "waiting" | "running" | "others"> {
    const of = (...stands: OpenRequest["stands"][]) =>
      [...this.#open].flatMap(([id, request]) => (stands.includes(request.stands) ? [id] : []));
    return {
      waiting: of("waiting", "judged again"),
      running: of("running", "refused"),
      others: [...of("asked"), ...this.#rows.keys(), ...this.#departing.keys()],
    };
  }

  /** The requests that wait for the answer to what they ask. */
  get asking(): readonly string[] {
    const open = [...this.#open].flatMap(([id, { stands }]) => (stands === "asked" ? [id] : []));
    return [...open, ...this.#shown.keys()];
  }

  /** Asks for a slot, or asks again. Rejects with what `failed` says, or when the request ends first. */
  async ask(request: AdmissionRequest): Promise<AdmissionAnswer> {
    const { requestId } = request;
    const known = this.#open.get(requestId);
    if (known !== undefined) close(known);
    // A departure that arrived after this would end the request. Without it the Cell may keep what the request had.
    const wasDeparting = this.#departing.delete(requestId);
    const answered = Promise.withResolvers<AdmissionAnswer>();
    const decided = Promise.withResolvers<Decision | Stale>();
    decided.promise.catch(() => undefined);
    this.#open.set(requestId, {
      request,
      stands: "asked",
      grant: null,
      mayHavePlace: known !== undefined || wasDeparting,
      life: known?.life ?? {},
      silentLooks: 0,
      answered,
      decided,
    });
    this.#asks.push(request);
    return await answered.promise;
  }

  /** The decision on a request that waits. Rejects with what `failedToDecide` says, or when the request ends first. */
  async decision(requestId: string): Promise<Decision | Stale> {
    const open = this.#open.get(requestId);
    if (open === undefined) throw new Error("the request has ended");
    return await open.decided.promise;
  }

  /** Asks whether a stored answer may be sent, and hands its row in. Rejects with what `failed` says; then its row goes another way. */
  async hit(hit: CacheHit): Promise<CacheHitDecision> {
    const shown = { ...Promise.withResolvers<CacheHitDecision>(), hit };
    this.#hits.push(hit);
    this.#shown.set(hit.row.request_id, shown);
    return await shown.promise;
  }

  /** Ends a request. */
  end(settlement: Settlement): void {
    const { request_id: requestId } = settlement.row;
    const open = this.#open.get(requestId);
    this.#open.delete(requestId);
    if (open !== undefined) close(open);
    this.#ends.push(settlement);
    this.#keep(settlement);
  }

  /** Takes a row of a request that asked for no slot. */
  record(record: RowRecord): void {
    this.#records.push(record);
    this.#keep({ ...record, actualTokens: chargedTokens(record.row) });
  }

  /** Keeps a row that its request hands in by itself: should its code be cut off before, the others hand it in. */
  keep(record: RowRecord): void {
    this.#keep({ ...record, actualTokens: chargedTokens(record.row) }, true);
  }

  /**
   * Removes a request whose code is gone, or that gives up what it has. `error`: what it is told because the Cell is away, while it
   * waits for an answer.
   */
  depart(requestId: string, error?: Error): void {
    const open = this.#open.get(requestId);
    if (open === undefined) return;
    this.#open.delete(requestId);
    close(open, error);
    this.#departures.push(requestId);
    const how = error === undefined ? "departures" : "withdrawals";
    this.#departing.set(requestId, { how, held: open.stands === "running" ? heldBy(open) : null });
    const [oldest = requestId] = this.#departing.keys();
    if (this.#departing.size > DEPARTING_MAX) this.#departing.delete(oldest);
  }

  /** The code of a request is there. */
  sign(requestId: string): void {
    const open = this.#open.get(requestId);
    if (open !== undefined) open.silentLooks = 0;
  }

  /** Removes the requests whose code has given no sign for too long: the runtime may have ended it. */
  look(): void {
    for (const [requestId, open] of this.#open) {
      open.silentLooks += 1;
      if (open.silentLooks >= SILENT_LOOKS) this.depart(requestId);
    }
  }

  /** What is to be sent now, without what has got its answer in the meantime; null when there is nothing. */
  take(): ExchangeMessage | null {
    const message = this.first();
    const { n: _, ...lists } = message;
    return Object.values(lists).some(({ length }) => length > 0) ? message : null;
  }

  /** The first message of a session, which may have nothing to say. */
  first(): ExchangeMessage {
    const take = <T>(list: T[], isOpen: (item: T) => boolean): T[] => list.splice(0, MESSAGE_MAX).filter(isOpen);
    const hasRow = ({ row }: RowRecord): boolean => this.#rows.has(row.request_id);
    const asks = (request: AdmissionRequest): boolean => {
      const open = this.#open.get(request.requestId);
      return open?.stands === "asked" && open.request === request;
    };
    const leaving = take(this.#departures, (requestId) => this.#departing.has(requestId));
    const leavingAs = (how: Departure["how"]) => leaving.filter((id) => this.#departing.get(id)?.how === how);
    const returns = take(this.#returns, ({ requestId }) => this.#open.get(requestId)?.stands === "running");
    this.#said += 1;
    return {
      n: this.#said,
      ends: take(this.#ends, hasRow),
      departures: leavingAs("departures"),
      withdrawals: leavingAs("withdrawals"),
      records: take(this.#records, hasRow),
      hits: take(this.#hits, ({ row }) => this.#shown.has(row.request_id)),
      returns: [...returns, ...leaving.flatMap((id) => this.#departing.get(id)?.held ?? [])],
      asks: take(this.#asks, asks),
    };
  }

  /** A session is lost: whatever got no answer is to be sent again. */
  sendAgain(): void {
    this.#asks = [];
    for (const open of this.#open.values()) {
      if (open.stands !== "asked") continue;
      open.mayHavePlace = true;
      // What it gives back may have come back already; then the Cell's answer is to this request.
      open.request = { ...open.request, again: true, anew: false };
      this.#asks.push(open.request);
    }
    this.#hits = Array.from(this.#shown.values(), ({ hit }) => ({ ...hit, again: true as const }));
    this.#ends = Array.from(this.#rows.values(), ({ settlement }) => settlement);
    this.#departures = [...this.#departing.keys()];
    this.#records = [];
    this.#returns = [];
  }

  /** Takes an answer to a message. Returns the rows that are to be sent another way. */
  applyAnswer(
    { decided, hits, stored, refused, unknown }: ExchangeAnswer,
    { departures, withdrawals }: Pick<ExchangeMessage, "departures" | "withdrawals">,
  ): readonly RowRecord[] {
    for (const requestId of [...departures, ...withdrawals]) this.#departing.delete(requestId);
    for (const [requestId, answer] of decided) this.#decided(requestId, answer);
    for (const [requestId, verdict] of hits) {
      const shown = this.#shown.get(requestId);
      if (shown === undefined) continue;
      this.#shown.delete(requestId);
      if (verdict.verdict === "current") this.#keep({ row: shown.hit.row, actualTokens: 0 });
      shown.resolve(verdict);
    }
    for (const requestId of unknown) this.#return(requestId);
    for (const requestId of stored) this.rowSaved(requestId);
    return refused.flatMap((requestId) => this.#rows.get(requestId)?.settlement ?? []);
  }

  /** The Cell is away: whoever asks it is told. */
  failed(error: Error): void {
    for (const [requestId, open] of this.#open) {
      if (open.stands !== "asked") continue;
      // The Cell may have it all the same.
      this.depart(requestId, error);
    }
    for (const { reject } of this.#shown.values()) reject(error);
    this.#shown.clear();
    this.#hits = [];
  }

  /** The Cell has been away for too long: requests that wait for a decision are told. */
  failedToDecide(error: Error): void {
    for (const [requestId, open] of this.#open) {
      if (open.stands === "waiting") this.depart(requestId, error);
    }
  }

  /** Every row that the Ledger may not have, but for those that their requests hand in by themselves. */
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

  /** A second row of a request waits for the same answer. */
  #keep(settlement: Settlement, isUnderWay = false): void {
    const { request_id: requestId } = settlement.row;
    const saved = this.#rows.get(requestId)?.saved ?? Promise.withResolvers();
    this.#rows.set(requestId, { settlement, isUnderWay, saved });
  }

  /** Answers may overtake each other, and come twice. */
  #decided(requestId: string, answer: AdmissionAnswer): void {
    const open = this.#open.get(requestId);
    if (open === undefined || (open.stands !== "asked" && open.stands !== "waiting")) return;
    const isFirst = open.stands === "asked";
    if (answer.verdict === "waiting") open.stands = "waiting";
    else if (answer.verdict === "granted") {
      open.stands = "running";
      open.grant = answer.grant;
    } else open.stands = answer.verdict === "stale" ? "judged again" : "refused";
    if (isFirst) {
      // A request that has no place yet gets none by a stale answer.
      if (answer.verdict === "stale" && !open.mayHavePlace) this.#open.delete(requestId);
      open.answered.resolve(answer);
    } else if (answer.verdict !== "waiting") open.decided.resolve(answer);
  }

  /** The Cell does not know of a request that holds a slot. */
  #return(requestId: string): void {
    const open = this.#open.get(requestId);
    const held = open === undefined ? null : heldBy(open);
    if (held !== null) this.#returns.push(held);
  }
}

/** The request with what it was granted, as another life of the Cell is told of it; null: it was granted nothing. */
function heldBy({ request, grant }: OpenRequest): AdmissionRequest | null {
  if (grant === null) return null;
  const admission = request.row.admission === "boon" ? "boon" : grant.admission;
  const row = { ...request.row, admission, queue_wait_ms: grant.queueWaitMs } as const;
  return { ...request, row, waitedMs: request.waitedMs ?? 0 };
}

/** The request ends without the answers that it waits for. */
function close({ answered, decided }: OpenRequest, error = new Error("the request has ended")): void {
  answered.reject(error);
  decided.reject(error);
}
