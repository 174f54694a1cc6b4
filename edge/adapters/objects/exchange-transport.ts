/**
 * Carries one session of an isolate with its Cell: one exchange after another, each with what has gathered since the
 * last (docs/rules/admission.md#exchanges). It lives in the context of the request that opened it, beside its answer
 * and beyond, for some seconds; then another request opens the next session, and this one goes on until what is open in
 * it has ended. Decides nothing.
 */
import type {
  ExchangeAnswer,
  ExchangeApi,
  ExchangeMessage,
  ExchangeSession,
  RowRecord,
} from "../../domain/admission/exchange-messages.ts";
import type { SessionQueue } from "../../domain/admission/session-queue.ts";
import type { Clock, Log } from "../../ports.ts";
import { withStallTolerantTimeout } from "../stall-tolerant-timeout.ts";

/** From then on the next request opens another session: a platform bounds how long a request may go on after its answer, */
const SUCCEEDED_AFTER_MS = 4_000;
const SERVES_MAX_MS = 5_000;
/** and how many calls it may make. */
const SUCCEEDED_AFTER_CALLS = 500;
const SERVES_MAX_CALLS = 600;
/** and what is open then needs some more: within a second its requests end, every few ms one, or have permits of their own. */
const CALLS_MAX = 900;
/** A session that nobody has used for this long ends. */
const IDLE_MS = 250;
/** For so long a session goes on without asks; its requests end by then, or have permits of their own. */
const DRAIN_MAX_MS = 5_000;
/** What nobody waits for is sent with what gathers meanwhile; to a Cell far away exchanges follow each other so closely, */
const GATHER_MS = 4;
/** and so many are under way at once. */
const UNDER_WAY_MAX = 16;
/** A Cell that does not answer an exchange for this long is lost. */
const ANSWER_MAX_MS = 5_000;
/** The carrier gives a sign of life at least this often. */
const BEAT_MS = 100;
/** One that has given none for this long was cut off with its request. */
const CUT_OFF_MS = 2_000;

const NOTHING: ExchangeMessage = { ends: [], departures: [], records: [], hits: [], asks: [] };

interface ExchangeTransportOptions {
  readonly cell: string;
  readonly open: ExchangeApi["openSession"];
  readonly clock: Clock;
  readonly log: Log;
  /** The session serves from now on. */
  readonly opened: () => void;
  /** Sends a row another way; never rejects. */
  readonly resend: (record: RowRecord) => Promise<void>;
}

export class ExchangeTransport {
  readonly queue: SessionQueue;
  readonly #options: ExchangeTransportOptions;
  readonly #sinceMs: number;
  #beatMs: number;
  #usedMs: number;
  /** Since when it takes no more asks; null: it does. */
  #retiredMs: number | null = null;
  #calls = 0;
  #underWay = 0;
  #gathering: ReturnType<typeof setTimeout> | null = null;
  #gathered = false;
  #failure: Error | null = null;
  readonly #resent: Promise<void>[] = [];
  #wake: () => void = () => undefined;

  constructor(queue: SessionQueue, options: ExchangeTransportOptions) {
    this.queue = queue;
    this.#options = options;
    const nowMs = options.clock();
    this.#sinceMs = nowMs;
    this.#beatMs = nowMs;
    this.#usedMs = nowMs;
  }

  /** Asks are to go elsewhere. */
  get isRetired(): boolean {
    return this.#retiredMs !== null || this.queue.isOver;
  }

  /** The next request is to open another session, which takes the place of this one once it serves. */
  get wantsSuccessor(): boolean {
    return this.#beatMs >= this.#sinceMs + SUCCEEDED_AFTER_MS || this.#calls >= SUCCEEDED_AFTER_CALLS;
  }

  /** Its request was cut off: nobody sends or hears anything for it any more. */
  get isCutOff(): boolean {
    const nowMs = this.#options.clock();
    // A clock that was set back says nothing of how long ago that was.
    this.#beatMs = Math.min(this.#beatMs, nowMs);
    return nowMs > this.#beatMs + CUT_OFF_MS;
  }

  /** Somebody sees to it. */
  heartbeat(): void {
    this.#beatMs = this.#options.clock();
  }

  /** There is something to send. */
  wake(): void {
    this.#usedMs = this.#options.clock();
    this.#wake();
  }

  /** Takes no more asks, and brings no more decisions: each would be a call. */
  retire(): void {
    this.#retiredMs ??= this.#options.clock();
    this.queue.stopDecisions();
    this.#wake();
  }

  /** Resolves when the session is over and its rows are on their way. Never rejects. What is asked in this turn goes along. */
  async run(): Promise<void> {
    const { cell, log, resend } = this.#options;
    await Promise.resolve();
    const beat = setInterval(() => {
      this.heartbeat();
      this.#wake();
    }, BEAT_MS);
    try {
      await this.#session();
    } catch (error) {
      log.event("exchange_lost", { cell, reason: error instanceof Error ? error.name : "unknown" });
    }
    this.retire();
    this.#resent.push(...this.queue.close().map(resend));
    await Promise.all(this.#resent);
    clearInterval(beat);
    if (this.#gathering !== null) clearTimeout(this.#gathering);
  }

  async #session(): Promise<void> {
    const { open, opened } = this.#options;
    const message = this.queue.take() ?? NOTHING;
    // Who heard nothing of it asks another way: nothing is to be held by a session that opens later.
    const { session, answer } = await this.#answered(open(message), (late) => late.session[Symbol.dispose]());
    try {
      this.#hear(answer, message);
      opened();
      void this.#listen(session);
      while (this.#goesOn()) {
        this.#send(session);
        await this.#pause();
      }
    } finally {
      // A call that is pending keeps the session alive at the Cell, whoever disposes it.
      await this.#answered(session.close()).catch(() => undefined);
      session[Symbol.dispose]();
    }
  }

  /** Throws when the Cell is lost, or the session was given up. */
  #goesOn(): boolean {
    if (this.#failure !== null) throw this.#failure;
    if (this.queue.isOver) throw new Error("the session was given up");
    const nowMs = this.#options.clock();
    const idle = this.queue.isEmpty && nowMs >= this.#usedMs + IDLE_MS;
    if (idle || nowMs >= this.#sinceMs + SERVES_MAX_MS || this.#calls >= SERVES_MAX_CALLS) this.retire();
    if (this.#retiredMs === null) return true;
    return !this.queue.isEmpty && nowMs < this.#retiredMs + DRAIN_MAX_MS && this.#calls < CALLS_MAX;
  }

  /** At once when somebody waits for the answer and nothing is under way; else what has gathered for a moment. */
  #send(session: ExchangeSession): void {
    const atOnce = this.queue.isUrgent && this.#underWay === 0;
    if (!this.queue.hasMessage || this.#underWay >= UNDER_WAY_MAX) return;
    if (!atOnce && !this.#gathered) {
      this.#gathering ??= setTimeout(() => {
        this.#gathered = true;
        this.#wake();
      }, GATHER_MS);
      return;
    }
    if (this.#gathering !== null) clearTimeout(this.#gathering);
    this.#gathering = null;
    this.#gathered = false;
    const message = this.queue.take();
    if (message !== null) void this.#exchange(session, message);
  }

  /** Never rejects: a failed exchange ends the session. */
  async #exchange(session: ExchangeSession, message: ExchangeMessage): Promise<void> {
    this.#calls += 1;
    this.#underWay += 1;
    try {
      this.#hear(await this.#answered(session.exchange(message)), message);
    } catch (error) {
      this.#fail(error);
    }
    this.#underWay -= 1;
    this.#wake();
  }

  /** One call is always pending: it rejects when the Cell is reset. Never rejects. */
  async #listen(session: ExchangeSession): Promise<void> {
    try {
      while (!this.queue.isOver && this.#calls < CALLS_MAX) {
        this.#calls += 1;
        this.#hear(await session.news());
        this.#wake();
      }
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    this.#failure ??= error instanceof Error ? error : new Error("the Cell is lost");
    this.#wake();
  }

  #hear(answer: ExchangeAnswer, { asks }: Pick<ExchangeMessage, "asks"> = NOTHING): void {
    this.#resent.push(...this.queue.applyAnswer(answer, asks).map(this.#options.resend));
  }

  async #pause(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      if (this.#failure !== null) resolve();
    });
    this.#wake = () => undefined;
    this.heartbeat();
  }

  /** `late`: what becomes of an answer that comes when it is not waited for any more. */
  async #answered<T>(work: Promise<T>, late: (answer: T) => void = () => undefined): Promise<T> {
    const answer = await withStallTolerantTimeout(work, ANSWER_MAX_MS);
    if (answer !== null) return answer.value;
    work.then(late, () => undefined);
    throw new Error("the Cell does not answer");
  }
}
