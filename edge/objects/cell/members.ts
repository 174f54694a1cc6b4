/**
 * The isolates of a Cell, and their sessions (docs/rules/admission.md#membership). A member's requests belong to it and to no
 * session: a session only carries messages. When the last one has ended, in any way, the member has a grace period to open
 * another one; then its requests are given up. Admission decides requests in order, each row is handled like every row, and the
 * isolate gets a report of both.
 */
import type { UsageRow } from "../../../shared/usage/usage-row.ts";
import { type AdmissionEntry, isLive } from "../../domain/admission/admission-entry.ts";
import type { AdmissionMachine } from "../../domain/admission/admission-machine.ts";
import type {
  AdmissionAnswer,
  CacheHitDecision,
  ExchangeAnswer,
  ExchangeMessage,
  RowRecord,
  SessionOpening,
} from "../../domain/admission/exchange-messages.ts";
import type { AdmissionRequest, CacheHit, Decision, Stale } from "../../domain/admission/rpc.ts";
import type { BudgetLimits } from "../../domain/budget/limits.ts";
import type { BucketLevel } from "../../domain/budget/token-bucket.ts";
import type { Revisions } from "../../domain/cell/revisions.ts";
import type { Silence } from "../object-ports.ts";

/** The report that a row is stored waits this long for other reports, or for an answer that carries it. */
const NEWS_MS = 50;
/**
 * A member without a session has this many intervals of the Cell's timer to open one. There are several, because an interval in
 * which this process is paused proves nothing.
 */
const GRACE_INTERVALS = 4;
const GRACE_INTERVAL_MS = 500;
/**
 * How long the rows of an isolate that is gone without a broken session wait for it, ms: its clients have given up long before.
 */
const SILENT_ROWS_WAIT_MS = 300_000;

interface MembersOptions {
  readonly admission: AdmissionMachine;
  readonly revisions: Pick<Revisions, "staleAmong">;
  /** Takes rows of requests that asked for no slot. Resolves when the row is durable. `again`: it may have come before. */
  readonly record: (record: RowRecord, again?: boolean) => Promise<void>;
  readonly level: (limits: BudgetLimits) => Promise<BucketLevel | null>;
  readonly later: (delayMs: number, run: () => void) => void;
  readonly silence: Silence;
  /** Called when the Cell knows of everything that an isolate runs, and that waits. */
  readonly isBack: (member: string) => void;
  /** Called for a request that could not be decided, which is a defect of the gateway. */
  readonly failed: (error: unknown) => void;
}

/** An answer that is being collected. */
type Report = { -readonly [List in keyof ExchangeAnswer]: ExchangeAnswer[List][number][] };

const emptyReport = (): Report => ({ decided: [], hits: [], stored: [], refused: [], unknown: [] });

interface KnownMember {
  readonly id: string;
  readonly leaseMs: number | undefined;
  /** The number of its newest message. */
  said: number;
  /** Null: its last one has ended, and it is in its grace, or was given up. */
  session: MemberSession | null;
  report: Report;
  /** Requests of its session that are unknown here: it must hand in the running ones, and the waiting ones ask again. */
  owed: Set<string>;
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
  /** Those with a session, or with requests that are entered. */
  readonly #known = new Map<string, KnownMember>();

  constructor(options: MembersOptions) {
    this.#options = options;
  }

  /**
   * Opens a session with its first exchange, and ends the member's earlier one. This ends the grace period; requests that the
   * member does not name are gone. Answers that an earlier session may have lost are sent again. Throws if a newer message of
   * the member has arrived: the member has given this one up as lost.
   */
  open(
    { member: id, leaseMs, waiting, running, others }: SessionOpening,
    message: ExchangeMessage,
  ): { readonly session: MemberSession; readonly answer: ExchangeAnswer } {
    const { admission } = this.#options;
    const member = this.#known.get(id) ?? {
      id,
      leaseMs,
      said: 0,
      session: null,
      report: emptyReport(),
      owed: new Set(),
    };
    if (message.n <= member.said) throw new Error("the member has said more since");
    this.#known.set(id, member);
    if (leaseMs !== undefined) this.heard(id, leaseMs);
    const session: MemberSession = { member, notify: null, isOver: false };
    const before = member.session;
    member.session = session;
    member.said = message.n;
    if (before !== null) close(before);
    try {
      const named = new Set([...waiting, ...running, ...others]);
      for (const { request } of admission.liveOf(id))
        if (!named.has(request.requestId)) admission.giveUp(request.requestId);
      // These are sent again. An earlier session has sent nothing of the others.
      const told = new Set(waiting);
      member.report.decided = member.report.decided.filter(([requestId]) => !told.has(requestId));
      // Before those that wait, or they would get the slots of these.
      const unknown = running.filter((requestId) => !admission.runs(requestId));
      member.report.unknown.push(...unknown);
      member.owed = new Set([...unknown, ...waiting.filter((requestId) => !admission.isKnown(requestId))]);
      for (const requestId of waiting) {
        const answer = admission.waits(requestId);
        if (answer !== null) member.report.decided.push([requestId, answer]);
      }
      return { session, answer: this.exchange(session, message) };
    } catch (error) {
      // The caller gets an error, and no session.
      this.end(session);
      throw error;
    }
  }

  /** Handles one exchange. Ends come first: what they return is free for the requests. Throws when the session is over. */
  exchange(session: MemberSession, message: ExchangeMessage): ExchangeAnswer {
    const { admission, record, failed, isBack } = this.#options;
    const { member } = session;
    if (session.isOver) throw new Error("the session is over");
    member.said = Math.max(member.said, message.n);
    if (member.leaseMs !== undefined) this.heard(member.id, member.leaseMs);
    for (const settlement of message.ends) this.#track(member, settlement.row, admission.end(settlement));
    for (const request of message.returns) admission.comeBack(request, member.id);
    for (const { requestId, isLost, held } of message.departures) {
      // It leaves a row also when it is new to this life of the Cell.
      if (held !== null) admission.comeBack(held, member.id);
      if (isLost) admission.giveUp(requestId);
      else admission.withdraw(requestId);
    }
    for (const one of message.records) {
      // The isolate may not know that the request has a place: the answer `stale` can overtake `waiting`.
      admission.withdraw(one.row.request_id);
      this.#track(member, one.row, record(one));
    }
    for (const hit of message.hits) this.#hit(member, hit);
    for (const request of message.asks) {
      try {
        const answer = admission.ask(request, member.id);
        if (answer !== null) member.report.decided.push(decidedOn(request, answer));
      } catch (error) {
        failed(error);
        // Without an answer it would wait forever; after two asks without success it is refused.
        member.report.decided.push([request.requestId, { verdict: "stale", items: [] }]);
      }
    }
    for (const { requestId } of message.departures) member.owed.delete(requestId);
    for (const requestId of member.owed) if (admission.isKnown(requestId)) member.owed.delete(requestId);
    if (member.owed.size === 0) isBack(member.id);
    return takeReport(member);
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
    return session.isOver ? emptyReport() : takeReport(member);
  }

  /** Ends a session, whether its holder closed it or is gone; a second call does nothing. */
  end(session: MemberSession): void {
    const { member } = session;
    if (session.isOver) return;
    close(session);
    member.session = null;
    const { admission } = this.#options;
    const own = [...admission.entries].filter((entry) => entry.member === member.id);
    if (own.length === 0) this.#known.delete(member.id);
    if (!own.some(isLive)) return;
    admission.quiet(member.id);
    this.#passGrace(member, member.said, GRACE_INTERVALS);
  }

  /** The isolate is alive. `leaseMs`: see {@link Silence}. */
  heard(id: string, leaseMs?: number): void {
    const { silence, admission } = this.#options;
    if (silence.heard(id, leaseMs)) admission.heardAgain(id);
  }

  /** Whether the isolate is silent. */
  isQuiet(id: string): boolean {
    return this.#known.get(id)?.session === null || this.#options.silence.isQuiet(id);
  }

  /** An interval of the Cell has passed: isolates that are gone lose their session and what they hold. */
  pass(): void {
    const { silence, admission } = this.#options;
    const { quiet, gone } = silence.pass();
    for (const id of gone) {
      const member = this.#known.get(id);
      if (member !== undefined && member.session !== null) {
        close(member.session);
        member.session = null;
      }
      this.#giveUp(id, SILENT_ROWS_WAIT_MS);
    }
    for (const id of quiet) admission.quiet(id);
    const owners = new Set(Array.from(admission.entries, ({ member }) => member));
    for (const [id, { session }] of this.#known) if (session === null && !owners.has(id)) this.#known.delete(id);
  }

  /** A request that had to wait has its answer. */
  decided({ member: id, request }: AdmissionEntry, answer: Decision | Stale): void {
    const member = this.#known.get(id);
    if (member === undefined) return;
    member.report.decided.push(decidedOn(request, answer));
    notify(member);
  }

  /**
   * `said`: its newest message when the grace period started. A later message has ended the period, even if it was forgotten
   * meanwhile.
   */
  #passGrace(member: KnownMember, said: number, intervals: number): void {
    this.#options.later(GRACE_INTERVAL_MS, () => {
      if (member.said !== said || this.#known.get(member.id) !== member) return;
      if (intervals > 1) this.#passGrace(member, said, intervals - 1);
      else this.#giveUp(member.id);
    });
  }

  #giveUp(id: string, rowsWaitMs?: number): void {
    const { admission } = this.#options;
    for (const { request } of admission.liveOf(id)) admission.giveUp(request.requestId, rowsWaitMs);
  }

  #hit(member: KnownMember, { revs, limits, row, again }: CacheHit): void {
    const { revisions, record, level } = this.#options;
    const answer = (verdict: CacheHitDecision): void => {
      member.report.hits.push([row.request_id, verdict]);
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
        () => member.report.stored.push(requestId),
        () => member.report.refused.push(requestId),
      )
      .then((waiting) => {
        if (waiting === 1) this.#options.later(NEWS_MS, () => notify(member));
      });
  }
}

const decidedOn = ({ requestId, ask }: AdmissionRequest, answer: AdmissionAnswer): Report["decided"][number] =>
  ask === undefined ? [requestId, answer] : [requestId, answer, ask];

function hasNews({ report }: KnownMember): boolean {
  return Object.values(report).some(({ length }) => length > 0);
}

/** Lets the session send pending reports. */
function notify(member: KnownMember): void {
  if (hasNews(member)) member.session?.notify?.();
}

function close(session: MemberSession): void {
  session.isOver = true;
  session.notify?.();
}

function takeReport(member: KnownMember): ExchangeAnswer {
  const { report } = member;
  member.report = emptyReport();
  return report;
}
