/**
 * The Cell's side of exchanges (design §4): each ask is decided in its order by the admission desk, each row goes the way of
 * every row, and the isolate is told what became of them. Invariant: a request that was asked for in a session, and neither
 * ended nor took a permit of its own, is settled as one of a lost permit when the session ends, however it ends.
 */
import type { UsageRow } from "../../../shared/usage-row.ts";
import type {
  AdmissionAnswer,
  CacheHitDecision,
  ExchangeAnswer,
  ExchangeMessage,
  RowRecord,
} from "../../domain/admission/exchange-messages.ts";
import type { AdmissionRequest, CacheHit, Decision, Settlement, Stale } from "../../domain/admission/rpc.ts";
import type { BudgetLimits } from "../../domain/budget/limits.ts";
import type { BucketLevel } from "../../domain/budget/token-bucket.ts";
import type { Revisions } from "../../domain/cell/revisions.ts";
import type { AdmissionController } from "./admission-controller.ts";
import type { AdmissionEntry } from "./admission-entry.ts";

/** A word that a row is stored waits this long for others, or for an answer to travel with. */
const NEWS_MS = 50;

/** What the Cell does with rows that come without a seat. Each resolves when the row is durable. */
interface RowSink {
  record(record: RowRecord): Promise<void>;
  settleOrphan(record: RowRecord): Promise<void>;
}

interface ExchangeControllerOptions {
  readonly desk: Pick<AdmissionController, "knows" | "holds" | "arrive" | "decision" | "inUse" | "settle" | "abandon">;
  readonly revisions: Pick<Revisions, "staleAmong">;
  readonly rows: RowSink;
  readonly level: (limits: BudgetLimits) => Promise<BucketLevel | null>;
  readonly later: (delayMs: number, run: () => void) => void;
  /** Told of a request that could not be decided, a defect of ours. */
  readonly failed: (error: unknown) => void;
}

/** One session. Only the desk reads it; a capability just hands it back. */
export interface ExchangeSessionState {
  readonly entries: Map<string, AdmissionEntry>;
  decided: (readonly [string, AdmissionAnswer])[];
  hits: (readonly [string, CacheHitDecision])[];
  stored: string[];
  refused: string[];
  /** Tells the isolate, which waits for news; null: it does not. */
  notify: (() => void) | null;
  hasNews: boolean;
  isOver: boolean;
}

export class ExchangeController {
  readonly #options: ExchangeControllerOptions;

  constructor(options: ExchangeControllerOptions) {
    this.#options = options;
  }

  /** A new session with its first exchange. */
  open(message: ExchangeMessage): { readonly session: ExchangeSessionState; readonly answer: ExchangeAnswer } {
    const session: ExchangeSessionState = {
      entries: new Map(),
      decided: [],
      hits: [],
      stored: [],
      refused: [],
      notify: null,
      hasNews: false,
      isOver: false,
    };
    try {
      return { session, answer: this.exchange(session, message) };
    } catch (error) {
      // Nobody gets hold of it.
      this.end(session);
      throw error;
    }
  }

  /** Ends first: what they give back is there for the asks. Throws when the session is over. */
  exchange(session: ExchangeSessionState, message: ExchangeMessage): ExchangeAnswer {
    const { ends, departures, records, hits, asks } = message;
    if (session.isOver) throw new Error("the session is over");
    for (const settlement of ends) this.#end(session, settlement);
    for (const requestId of departures) this.#depart(session, requestId);
    for (const record of records) this.#track(session, record.row, this.#options.rows.record(record));
    for (const hit of hits) this.#hit(session, hit);
    for (const ask of asks) {
      const answer = this.#ask(session, ask);
      if (answer !== null) session.decided.push([ask.requestId, answer]);
    }
    return this.#answer(session);
  }

  async news(session: ExchangeSessionState): Promise<ExchangeAnswer> {
    if (!session.hasNews && !session.isOver)
      await new Promise<void>((resolve) => {
        session.notify = resolve;
      });
    session.notify = null;
    session.hasNews = false;
    return this.#answer(session);
  }

  end(session: ExchangeSessionState): void {
    if (session.isOver) return;
    session.isOver = true;
    const { desk } = this.#options;
    const seats = [...session.entries.values()];
    session.entries.clear();
    // Who waits first, for a slot and then for tokens: nothing of what comes back is to be granted to them.
    for (const seat of seats) if (waits(seat) && seat.slot === null) desk.abandon(seat, true);
    for (const seat of seats) if (waits(seat)) desk.abandon(seat, true);
    for (const seat of seats) desk.abandon(seat, true);
    session.notify?.();
  }

  #answer(session: ExchangeSessionState): ExchangeAnswer {
    const { decided, hits, stored, refused } = session;
    session.decided = [];
    session.hits = [];
    session.stored = [];
    session.refused = [];
    return { decided, hits, stored, refused };
  }

  /** Null: it was not decided, and has no place in this session. */
  #ask(session: ExchangeSessionState, ask: AdmissionRequest): AdmissionAnswer | null {
    const { desk, revisions, failed } = this.#options;
    // It has gone another way meanwhile: this word of it came late.
    if (desk.knows(ask.requestId)) return null;
    const items = revisions.staleAmong(ask.revs);
    if (items.length > 0) return { verdict: "stale", items };
    try {
      const seat = desk.arrive(ask);
      session.entries.set(ask.requestId, seat);
      const { decision } = seat;
      if (decision !== null && decision.verdict !== "stale") return decision;
      this.#follow(session, seat);
      return { verdict: "waiting" };
    } catch (error) {
      failed(error);
      return null;
    }
  }

  /** Tells the isolate what is decided of one that waits, unless it has a permit of its own by then. */
  #follow(session: ExchangeSessionState, seat: AdmissionEntry): void {
    const { desk } = this.#options;
    const told = (decision: Decision | Stale): void => {
      if (session.isOver || session.entries.get(seat.ask.requestId) !== seat) return;
      if (decision.verdict === "granted") desk.inUse(seat);
      session.decided.push([seat.ask.requestId, decision]);
      this.#tell(session);
    };
    void desk.decision(seat).then(told, () => undefined);
  }

  #end(session: ExchangeSessionState, settlement: Settlement): void {
    const { desk, rows } = this.#options;
    const { row, upstream } = settlement;
    const seat = session.entries.get(row.request_id);
    session.entries.delete(row.request_id);
    const stored =
      seat === undefined || !desk.holds(seat) ? rows.settleOrphan({ row, upstream }) : desk.settle(seat, settlement);
    this.#track(session, row, stored);
  }

  #depart(session: ExchangeSessionState, requestId: string): void {
    const seat = session.entries.get(requestId);
    session.entries.delete(requestId);
    if (seat !== undefined) this.#options.desk.abandon(seat);
  }

  #hit(session: ExchangeSessionState, { revs, limits, row }: CacheHit): void {
    const { revisions, rows, level } = this.#options;
    const say = (verdict: CacheHitDecision): void => {
      session.hits.push([row.request_id, verdict]);
      this.#tell(session);
    };
    const items = revisions.staleAmong(revs);
    if (items.length > 0) say({ verdict: "stale", items });
    else {
      this.#track(session, row, rows.record({ row }));
      if (limits === null) say({ verdict: "current", level: null });
      else
        void level(limits)
          .catch(() => null)
          .then((known) => say({ verdict: "current", level: known }));
    }
  }

  /** Sees to it that the isolate hears what became of a row. */
  #track(session: ExchangeSessionState, { request_id: requestId }: UsageRow, stored: Promise<void>): void {
    void stored
      .then(
        () => session.stored.push(requestId),
        () => session.refused.push(requestId),
      )
      .then((waiting) => {
        if (waiting === 1) this.#options.later(NEWS_MS, () => this.#tell(session));
      });
  }

  #tell(session: ExchangeSessionState): void {
    const { decided, hits, stored, refused } = session;
    if (decided.length + hits.length + stored.length + refused.length === 0) return;
    session.hasNews = true;
    session.notify?.();
  }
}

const waits = ({ decision }: AdmissionEntry): boolean => decision === null || decision.verdict === "stale";
