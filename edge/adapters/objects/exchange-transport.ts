/**
 * Runs one session of an isolate with its Cell: one exchange after another, each with the messages that were queued
 * since the last one (docs/rules/admission.md#exchanges). It runs in the context of the request that opened it, beside
 * that request's answer and for some seconds after it; then another request opens the next session, and this one goes
 * on until its open requests have ended. It decides nothing.
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

/**
 * From this age on the next request opens another session, because a platform limits how long a request may go on after
 * its answer.
 */
const SUCCEEDED_AFTER_MS = 4_000;
const SERVES_MAX_MS = 5_000;
/**
 * From this number of calls on the next request opens another session, because a platform limits the calls of a
 * request.
 */
const SUCCEEDED_AFTER_CALLS = 500;
const SERVES_MAX_CALLS = 600;
/**
 * No call is made beyond this number. The calls beyond `SERVES_MAX_CALLS` are for the requests that are still open:
 * within a second they end, about one every few ms, or have permits of their own.
 */
const CALLS_MAX = 900;
/** A session that has been unused for this long ends. */
const IDLE_MS = 250;
/**
 * A message that no request waits for is sent after this long, together with what was queued meanwhile. Exchanges with
 * a distant Cell follow one another at this interval.
 */
const GATHER_MS = 4;
/** Exchanges that may be under way at once. */
const UNDER_WAY_MAX = 16;
/** A Cell that does not answer an exchange for this long is taken to be lost. */
const ANSWER_MAX_MS = 5_000;
/** The transport records that it is alive at least this often. */
const BEAT_MS = 100;
/**
 * How many beats a session lasts once it takes no more admission requests. By then its open requests have ended or have permits of
 * their own. Beats count only time in which the isolate runs.
 */
const DRAIN_BEATS = 50;
/** A transport that has not recorded this for so long may have been cut off with its request. */
const LATE_MS = 700;
/** A request that has handed in its row looks this often whether the transport is there to send it. */
const ROW_EVERY_MS = 300;
/**
 * It was, if it is still late this long after a request has seen it: until then the whole isolate may have stood still, and goes on
 * with that request.
 */
const CUT_OFF_AFTER_MS = 300;

const NOTHING: ExchangeMessage = { ends: [], departures: [], records: [], hits: [], asks: [] };

interface ExchangeTransportOptions {
  readonly cell: string;
  readonly open: ExchangeApi["openSession"];
  readonly clock: Clock;
  readonly log: Log;
  /** Called when the session begins to serve. */
  readonly opened: () => void;
  /** Sends a row another way; never rejects. */
  readonly resend: (record: RowRecord) => Promise<void>;
}

export class ExchangeTransport {
  readonly queue: SessionQueue;
  readonly #options: ExchangeTransportOptions;
  readonly #sinceMs: number;
  #beatMs: number;
  #beats = 0;
  #usedMs: number;
  /** When a request has seen that the transport is late, epoch ms; null: none has, or it was alive after that. */
  #seenLateMs: number | null = null;
  /** The beat from which on the session takes no more admission requests; null: it takes them. */
  #retiredAt: number | null = null;
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

  /** Admission requests have to be sent another way. */
  get isRetired(): boolean {
    return this.#retiredAt !== null || this.queue.isOver;
  }

  /** The next request has to open another session, which replaces this one when it begins to serve. */
  get wantsSuccessor(): boolean {
    return this.#beatMs >= this.#sinceMs + SUCCEEDED_AFTER_MS || this.#calls >= SUCCEEDED_AFTER_CALLS;
  }

  /** It is not known whether the transport still runs: nothing may be left to it alone. */
  get isLate(): boolean {
    const nowMs = this.#options.clock();
    // When the clock was set back, the recorded time is limited to now.
    this.#beatMs = Math.min(this.#beatMs, nowMs);
    return nowMs > this.#beatMs + LATE_MS;
  }

  /**
   * The request in whose context this runs was cut off: no code sends or receives anything for the session any more.
   */
  get isCutOff(): boolean {
    if (!this.isLate) return false;
    const nowMs = this.#options.clock();
    this.#seenLateMs = Math.min(this.#seenLateMs ?? nowMs, nowMs);
    return nowMs > this.#seenLateMs + CUT_OFF_AFTER_MS;
  }

  /** Records that the transport is alive, or that a request takes care of what it left. */
  heartbeat(): void {
    this.#beatMs = this.#options.clock();
    this.#seenLateMs = null;
  }

  /** Reports that there is something to send. */
  wake(): void {
    this.#usedMs = this.#options.clock();
    this.#wake();
  }

  /**
   * Resolves when a row that was handed in is stored. Throws when the transport may have been cut off with it: the Cell gives up a
   * request soon after that, so that its row must not wait for the next request to find it.
   */
  async delivered(requestId: string): Promise<void> {
    const saved = this.queue.saved(requestId);
    while ((await withStallTolerantTimeout(saved, ROW_EVERY_MS)) === null)
      if (this.isLate) throw new Error("the session may be lost");
  }

  /** Takes no more admission requests, and waits for no more decisions: each of them would be a call. */
  retire(): void {
    this.#retiredAt ??= this.#beats;
    this.queue.stopDecisions();
    this.#wake();
  }

  /**
   * Resolves when the session is over and its rows have been sent. Never rejects. What is queued in the same turn is
   * sent with the first message.
   */
  async run(): Promise<void> {
    const { cell, log } = this.#options;
    await Promise.resolve();
    const beat = setInterval(() => {
      this.#beats += 1;
      this.heartbeat();
      this.#wake();
    }, BEAT_MS);
    try {
      await this.#session();
    } catch (error) {
      log.event("exchange_lost", { cell, reason: error instanceof Error ? error.name : "unknown" });
    }
    this.#giveUp();
    await Promise.all(this.#resent);
    clearInterval(beat);
    if (this.#gathering !== null) clearTimeout(this.#gathering);
  }

  async #session(): Promise<void> {
    const { open, opened } = this.#options;
    const message = this.queue.take() ?? NOTHING;
    // Requests that got no answer call the Cell by themselves, so a session that opens later must hold nothing.
    const { session, answer } = await this.#answered(open(message), (late) => late.session[Symbol.dispose]());
    try {
      this.#applyAnswer(answer, message);
      opened();
      void this.#listen(session);
      while (this.#goesOn()) {
        this.#send(session);
        await this.#pause();
      }
    } finally {
      // Requests that are open in it have to find another way before the Cell takes them to be lost.
      this.#giveUp();
      // A pending call keeps the session alive at the Cell even after the session is disposed.
      await this.#answered(session.close()).catch(() => undefined);
      session[Symbol.dispose]();
    }
  }

  /** Ends the queue: its open requests learn that the session is lost, and its rows are sent another way. */
  #giveUp(): void {
    this.retire();
    this.#resent.push(...this.queue.close().map(this.#options.resend));
  }

  /** Whether the session goes on. Throws when the Cell is lost, or when the session was given up. */
  #goesOn(): boolean {
    if (this.#failure !== null) throw this.#failure;
    if (this.queue.isOver) throw new Error("the session was given up");
    const nowMs = this.#options.clock();
    const idle = this.queue.isEmpty && nowMs >= this.#usedMs + IDLE_MS;
    if (idle || nowMs >= this.#sinceMs + SERVES_MAX_MS || this.#calls >= SERVES_MAX_CALLS) this.retire();
    if (this.#retiredAt === null) return true;
    return !this.queue.isEmpty && this.#beats < this.#retiredAt + DRAIN_BEATS && this.#calls < CALLS_MAX;
  }

  /**
   * Sends at once when a request waits for the answer and no exchange is under way; otherwise sends what was gathered
   * for a moment.
   */
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
      this.#applyAnswer(await this.#answered(session.exchange(message)), message);
    } catch (error) {
      this.#fail(error);
    }
    this.#underWay -= 1;
    this.#wake();
  }

  /** Keeps one call pending at all times: it rejects when the Cell is reset. Never rejects itself. */
  async #listen(session: ExchangeSession): Promise<void> {
    try {
      while (!this.queue.isOver && this.#calls < CALLS_MAX) {
        this.#calls += 1;
        this.#applyAnswer(await session.news());
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

  #applyAnswer(answer: ExchangeAnswer, { asks }: Pick<ExchangeMessage, "asks"> = NOTHING): void {
    this.#resent.push(...this.queue.applyAnswer(answer, asks).map(this.#options.resend));
  }

  async #pause(): Promise<void> {
    const woken = Promise.withResolvers<void>();
    this.#wake = woken.resolve;
    if (this.#failure !== null) woken.resolve();
    await woken.promise;
    this.#wake = () => undefined;
  }

  /** `late`: handles an answer that arrives after the timeout. */
  async #answered<T>(work: Promise<T>, late: (answer: T) => void = () => undefined): Promise<T> {
    const answer = await withStallTolerantTimeout(work, ANSWER_MAX_MS);
    if (answer !== null) return answer.value;
    work.then(late, () => undefined);
    throw new Error("the Cell does not answer");
  }
}
