/**
 * The Cell's side of exchanges (docs/rules/admission.md#exchanges): the admission controller decides each request in
 * its order, each row is handled like every row, and the isolate gets a report of both. Invariant: when a session ends,
 * in whatever way, every request that came in it, and neither ended nor took a permit of its own, is disconnected.
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

/** The report that a row is stored waits this long for other reports, or for an answer that carries it. */
const NEWS_MS = 50;

/** What the Cell does with rows that come without an entry. Each resolves when the row is durable. */
interface RowSink {
  record(record: RowRecord): Promise<void>;
  settleOrphan(record: RowRecord): Promise<void>;
}

interface ExchangeControllerOptions {
  readonly admission: Pick<
    AdmissionController,
    "knows" | "holds" | "arrive" | "decision" | "inUse" | "settle" | "abandon" | "disconnected"
  >;
  readonly revisions: Pick<Revisions, "staleAmong">;
  readonly rows: RowSink;
  readonly level: (limits: BudgetLimits) => Promise<BucketLevel | null>;
  readonly later: (delayMs: number, run: () => void) => void;
  /** Called for a request that could not be decided, which is a defect of the gateway. */
  readonly failed: (error: unknown) => void;
}

/** One session. Only the controller reads it; the RPC capability returns it unchanged. */
export interface ExchangeSessionState {
  readonly entries: Map<string, AdmissionEntry>;
  decided: (readonly [string, AdmissionAnswer])[];
  hits: (readonly [string, CacheHitDecision])[];
  stored: string[];
  refused: string[];
  /** Resumes the call by which the isolate waits for news; null: there is no such call. */
  notify: (() => void) | null;
  hasNews: boolean;
  isOver: boolean;
}

export class ExchangeController {
  readonly #options: ExchangeControllerOptions;

  constructor(options: ExchangeControllerOptions) {
    this.#options = options;
  }

  /** Opens a session with its first exchange. */
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
      // The caller gets an error, and no session.
      this.end(session);
      throw error;
    }
  }

  /**
   * Handles one exchange. Ends come first: what they give back is free for the requests. Throws when the session is
   * over.
   */
  exchange(session: ExchangeSessionState, message: ExchangeMessage): ExchangeAnswer {
    const { ends, departures, records, hits, asks: requests } = message;
    if (session.isOver) throw new Error("the session is over");
    for (const settlement of ends) this.#end(session, settlement);
    for (const requestId of departures) this.#depart(session, requestId);
    for (const record of records) this.#track(session, record.row, this.#options.rows.record(record));
    for (const hit of hits) this.#hit(session, hit);
    for (const request of requests) {
      const answer = this.#admit(session, request);
      if (answer !== null) session.decided.push([request.requestId, answer]);
    }
    return this.#answer(session);
  }

  async news(session: ExchangeSessionState): Promise<ExchangeAnswer> {
    if (!session.hasNews && !session.isOver) {
      const news = Promise.withResolvers<void>();
      session.notify = news.resolve;
      await news.promise;
    }
    session.notify = null;
    session.hasNews = false;
    return this.#answer(session);
  }

  end(session: ExchangeSessionState): void {
    if (session.isOver) return;
    session.isOver = true;
    const { admission } = this.#options;
    const entries = [...session.entries.values()];
    session.entries.clear();
    // Requests that wait for a slot are ended before those that wait for tokens: what comes back must not be granted to
    // any of them.
    for (const entry of entries) if (waits(entry) && entry.slot === null) admission.disconnected(entry);
    for (const entry of entries) admission.disconnected(entry);
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

  /** Null: the request was not decided, and has no place in this session. */
  #admit(session: ExchangeSessionState, request: AdmissionRequest): AdmissionAnswer | null {
    const { admission, revisions, failed } = this.#options;
    // The request has gone another way meanwhile: this message came late.
    if (admission.knows(request.requestId)) return null;
    const items = revisions.staleAmong(request.revs);
    if (items.length > 0) return { verdict: "stale", items };
    try {
      const entry = admission.arrive(request);
      session.entries.set(request.requestId, entry);
      const { decision } = entry;
      if (decision !== null && decision.verdict !== "stale") return decision;
      this.#follow(session, entry);
      return { verdict: "waiting" };
    } catch (error) {
      failed(error);
      return null;
    }
  }

  /**
   * Reports to the isolate what is decided about a waiting request, unless the request has a permit of its own by then.
   */
  #follow(session: ExchangeSessionState, entry: AdmissionEntry): void {
    const { admission } = this.#options;
    const report = (decision: Decision | Stale): void => {
      if (session.isOver || session.entries.get(entry.request.requestId) !== entry) return;
      if (decision.verdict === "granted") admission.inUse(entry, false);
      session.decided.push([entry.request.requestId, decision]);
      this.#report(session);
    };
    void admission.decision(entry).then(report, () => undefined);
  }

  #end(session: ExchangeSessionState, settlement: Settlement): void {
    const { admission, rows } = this.#options;
    const { row, upstream } = settlement;
    const entry = session.entries.get(row.request_id);
    session.entries.delete(row.request_id);
    const stored =
      entry === undefined || !admission.holds(entry)
        ? rows.settleOrphan({ row, upstream })
        : admission.settle(entry, settlement);
    this.#track(session, row, stored);
  }

  #depart(session: ExchangeSessionState, requestId: string): void {
    const entry = session.entries.get(requestId);
    session.entries.delete(requestId);
    if (entry !== undefined) this.#options.admission.abandon(entry);
  }

  #hit(session: ExchangeSessionState, { revs, limits, row }: CacheHit): void {
    const { revisions, rows, level } = this.#options;
    const answer = (verdict: CacheHitDecision): void => {
      session.hits.push([row.request_id, verdict]);
      this.#report(session);
    };
    const items = revisions.staleAmong(revs);
    if (items.length > 0) answer({ verdict: "stale", items });
    else {
      this.#track(session, row, rows.record({ row }));
      if (limits === null) answer({ verdict: "current", level: null });
      else
        void level(limits)
          .catch(() => null)
          .then((known) => answer({ verdict: "current", level: known }));
    }
  }

  /** Reports to the isolate what became of a row. */
  #track(session: ExchangeSessionState, { request_id: requestId }: UsageRow, stored: Promise<void>): void {
    void stored
      .then(
        () => session.stored.push(requestId),
        () => session.refused.push(requestId),
      )
      .then((waiting) => {
        if (waiting === 1) this.#options.later(NEWS_MS, () => this.#report(session));
      });
  }

  #report(session: ExchangeSessionState): void {
    const { decided, hits, stored, refused } = session;
    if (decided.length + hits.length + stored.length + refused.length === 0) return;
    session.hasNews = true;
    session.notify?.();
  }
}

const waits = ({ decision }: AdmissionEntry): boolean => decision === null || decision.verdict === "stale";
