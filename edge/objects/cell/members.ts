/**
 * The isolates of a Cell, and their sessions (docs/rules/admission.md#membership). A member's requests belong to it and to no
 * session: a session only carries messages. When the last one has ended, in whatever way, the member has a grace to open another
 * one; then its requests are given up. Admission decides each request in its order, each row is handled like every row, and the
 * isolate gets a report of both.
 */
import type { UsageRow } from "../../../shared/usage-row.ts";
import type { AdmissionEntry } from "../../domain/admission/admission-entry.ts";
import type { AdmissionMachine } from "../../domain/admission/admission-machine.ts";
import type {
  AdmissionAnswer,
  CacheHitDecision,
  ExchangeAnswer,
  ExchangeMessage,
  Member,
  RowRecord,
} from "../../domain/admission/exchange-messages.ts";
import type { CacheHit, Decision, Stale } from "../../domain/admission/rpc.ts";
import type { BudgetLimits } from "../../domain/budget/limits.ts";
import type { BucketLevel } from "../../domain/budget/token-bucket.ts";
import type { Revisions } from "../../domain/cell/revisions.ts";
import type { Silence } from "../object-ports.ts";

/** The report that a row is stored waits this long for other reports, or for an answer that carries it. */
const NEWS_MS = 50;
/**
 * A member without a session has so many intervals of the Cell's timer to open one. Several, because one that passes while this
 * process stands still says nothing.
 */
const GRACE_INTERVALS = 4;
const GRACE_INTERVAL_MS = 500;
/** The rows of an isolate that is gone without a broken session wait for it so long, ms: its clients have given up long before. */
const SILENT_ROWS_WAIT_MS = 300_000;

interface MembersOptions {
  readonly admission: AdmissionMachine;
  readonly revisions: Pick<Revisions, "staleAmong">;
  /** Takes rows of requests that asked for no slot. Resolves when the row is durable. `again`: it may have come before. */
  readonly record: (record: RowRecord, again?: boolean) => Promise<void>;
  readonly level: (limits: BudgetLimits) => Promise<BucketLevel | null>;
  readonly later: (delayMs: number, run: () => void) => void;
  readonly silence: Silence;
  /** Called for a request that could not be decided, which is a defect of the gateway. */
  readonly failed: (error: unknown) => void;
}

interface KnownMember {
  readonly id: string;
  readonly leaseMs: number | undefined;
  /** The number of its newest session. */
  opening: number;
  session: MemberSession | null;
  /** Identity of the grace that runs; null: none does. */
  grace: object | null;
  decided: (readonly [string, AdmissionAnswer])[];
  hits: (readonly [string, CacheHitDecision])[];
  stored: string[];
  refused: string[];
  unknown: string[];
}

/** One session. Only {@link Members} reads it; the RPC capability returns it unchanged. */
export interface MemberSession {
  readonly member: KnownMember;
  /** Resumes the call by which the isolate waits for news; null: there is no such call. */
  notify: (() => void) | null;
  isOver: boolean;
}

export class Members {
  readonly #options: MembersOptions;
  readonly #known = new Map<string, KnownMember>();

  constructor(options: MembersOptions) {
    this.#options = options;
  }

  /**
   * Opens a session with its first exchange, and ends the member's earlier one. What the member tells of its requests ends its grace,
   * and those that it does not name are gone. Answers that an earlier session may have lost are given again. Throws when a newer
   * session is known.
   */
  open(
    { member: id, opening, leaseMs, waiting, running, others }: Member,
    message: ExchangeMessage,
  ): { readonly session: MemberSession; readonly answer: ExchangeAnswer } {
    const { admission } = this.#options;
    const member = this.#known.get(id) ?? newMember(id, leaseMs);
    if (opening <= member.opening) throw new Error("the member has a newer session");
    this.#known.set(id, member);
    if (leaseMs !== undefined) this.heard(id, leaseMs);
    const session: MemberSession = { member, notify: null, isOver: false };
    const before = member.session;
    member.opening = opening;
    member.session = session;
    member.grace = null;
    if (before !== null) close(before);
    try {
      const named = new Set([...waiting, ...running, ...others]);
      // A message that was sent later over the earlier session may have arrived before this one.
      for (const { request, said } of admission.liveOf(id))
        if (said < message.n && !named.has(request.requestId)) admission.depart(request.requestId, message.n);
      member.decided = [];
      // Before those that wait, or they would get the slots of these.
      member.unknown = running.filter((requestId) => !admission.runs(requestId, message.n));
      for (const requestId of waiting) {
        const answer = admission.waits(requestId, message.n);
        if (answer !== null) member.decided.push([requestId, answer]);
      }
      return { session, answer: this.exchange(session, message) };
    } catch (error) {
      // The caller gets an error, and no session.
      this.end(session);
      throw error;
    }
  }

  /** Handles one exchange. Ends come first: what they give back is free for the requests. Throws when the session is over. */
  exchange(session: MemberSession, message: ExchangeMessage): ExchangeAnswer {
    const { admission, record } = this.#options;
    const { member } = session;
    if (session.isOver) throw new Error("the session is over");
    if (member.leaseMs !== undefined) this.heard(member.id, member.leaseMs);
    for (const settlement of message.ends) this.#track(member, settlement.row, admission.end(settlement));
    // One that departs may be new to this life of the Cell, and leaves a row all the same.
    for (const request of message.returns) admission.takeBack(request, member.id, message.n);
    for (const requestId of message.departures) admission.depart(requestId, message.n);
    for (const requestId of message.withdrawals) admission.withdraw(requestId);
    for (const one of message.records) this.#track(member, one.row, record(one));
    for (const hit of message.hits) this.#hit(member, hit);
    for (const request of message.asks) {
      try {
        const answer = admission.ask(request, member.id, message.n);
        if (answer !== null) member.decided.push([request.requestId, answer]);
      } catch (error) {
        this.#options.failed(error);
        // Without an answer it would wait for ever; asked for in vain twice, it is refused.
        member.decided.push([request.requestId, { verdict: "stale", items: [] }]);
      }
    }
    return answerTo(member);
  }

  async news(session: MemberSession): Promise<ExchangeAnswer> {
    const { member } = session;
    if (session.isOver) throw new Error("the session is over");
    if (!hasNews(member)) {
      const news = Promise.withResolvers<void>();
      session.notify = news.resolve;
      await news.promise;
    }
    session.notify = null;
    // Another session carries what there is to report.
    return session.isOver ? NO_NEWS : answerTo(member);
  }

  /** Ends a session, whether its holder closed it or is gone; a second call does nothing. */
  end(session: MemberSession): void {
    const { member } = session;
    if (session.isOver) return;
    close(session);
    member.session = null;
    const { admission } = this.#options;
    if (admission.liveOf(member.id).length === 0) {
      this.#known.delete(member.id);
      return;
    }
    const grace = {};
    member.grace = grace;
    admission.quiet(member.id);
    this.#pass(member, grace, GRACE_INTERVALS);
  }

  /** The isolate is alive. `leaseMs`: see {@link Silence}. */
  heard(id: string, leaseMs?: number): void {
    const { silence, admission } = this.#options;
    if (silence.heard(id, leaseMs)) admission.heardAgain(id);
  }

  /** Whether nothing is heard of the isolate. */
  isQuiet(id: string): boolean {
    return (this.#known.get(id)?.grace ?? null) !== null || this.#options.silence.isQuiet(id);
  }

  /** An interval of the Cell has passed: isolates that are gone lose their session and what they hold. */
  pass(): void {
    const { silence, admission } = this.#options;
    const { quiet, gone } = silence.pass();
    for (const id of gone) {
      const session = this.#known.get(id)?.session ?? null;
      if (session !== null) close(session);
      this.#giveUp(id, SILENT_ROWS_WAIT_MS);
    }
    for (const id of quiet) admission.quiet(id);
  }

  /** A request that had to wait has its answer. */
  decided({ member: id, request }: AdmissionEntry, answer: Decision | Stale): void {
    const member = this.#known.get(id);
    if (member === undefined) return;
    member.decided.push([request.requestId, answer]);
    notify(member);
  }

  #pass(member: KnownMember, grace: object, intervals: number): void {
    this.#options.later(GRACE_INTERVAL_MS, () => {
      if (member.grace !== grace) return;
      if (intervals > 1) {
        this.#pass(member, grace, intervals - 1);
        return;
      }
      this.#giveUp(member.id);
    });
  }

  #giveUp(id: string, rowsWaitMs?: number): void {
    const { admission } = this.#options;
    const member = this.#known.get(id);
    // Its grace is over with it, and must not end what the isolate has in a later session.
    if (member !== undefined) member.grace = null;
    this.#known.delete(id);
    for (const entry of admission.liveOf(id)) admission.giveUp(entry, rowsWaitMs);
  }

  #hit(member: KnownMember, { revs, limits, row, again }: CacheHit): void {
    const { revisions, record, level } = this.#options;
    const answer = (verdict: CacheHitDecision): void => {
      member.hits.push([row.request_id, verdict]);
      notify(member);
    };
    const items = revisions.staleAmong(revs);
    if (items.length > 0) {
      answer({ verdict: "stale", items });
      return;
    }
    this.#track(member, row, record({ row }, again));
    if (limits === null) answer({ verdict: "current", level: null });
    else
      void level(limits)
        .catch(() => null)
        .then((known) => answer({ verdict: "current", level: known }));
  }

  /** Reports to the isolate what became of a row. */
  #track(member: KnownMember, { request_id: requestId }: UsageRow, stored: Promise<void>): void {
    void stored
      .then(
        () => member.stored.push(requestId),
        () => member.refused.push(requestId),
      )
      .then((waiting) => {
        if (waiting === 1) this.#options.later(NEWS_MS, () => notify(member));
      });
  }
}

const NO_NEWS: ExchangeAnswer = { decided: [], hits: [], stored: [], refused: [], unknown: [] };

function newMember(id: string, leaseMs: number | undefined): KnownMember {
  return {
    id,
    leaseMs,
    opening: 0,
    session: null,
    grace: null,
    decided: [],
    hits: [],
    stored: [],
    refused: [],
    unknown: [],
  };
}

function hasNews({ decided, hits, stored, refused, unknown }: KnownMember): boolean {
  return decided.length + hits.length + stored.length + refused.length + unknown.length > 0;
}

/** Lets the session carry what there is to report. */
function notify(member: KnownMember): void {
  if (hasNews(member)) member.session?.notify?.();
}

function close(session: MemberSession): void {
  session.isOver = true;
  session.notify?.();
}

function answerTo(member: KnownMember): ExchangeAnswer {
  const { decided, hits, stored, refused, unknown } = member;
  member.decided = [];
  member.hits = [];
  member.stored = [];
  member.refused = [];
  member.unknown = [];
  return { decided, hits, stored, refused, unknown };
}
