/**
 * Sends the messages of a member to its Cell and receives the answers, one exchange after another, in the context of the request
 * that started it: beside that request, and for some seconds after it; then another request follows
 * (docs/rules/admission.md#membership). When a session is lost it opens the next one itself. It decides nothing.
 */
import { rootCause } from "../../../shared/text/root-cause.ts";
import { sleep } from "../../../shared/time/sleep.ts";
import type {
  ExchangeAnswer,
  ExchangeMessage,
  ExchangeSession,
  RowRecord,
} from "../../domain/admission/exchange-messages.ts";
import type { MemberTable } from "../../domain/admission/member-table.ts";
import type { Clock, Log } from "../../ports.ts";
import { withStallTolerantTimeout } from "../stall-tolerant-timeout.ts";
import { mayCallAgain } from "./call-errors.ts";

/** Beats count only time in which the isolate runs. */
const BEAT_MS = 100;
/**
 * This long after its request has ended, or after so many calls, the next request starts another holder: a platform limits how
 * long a request may continue after its answer, and how many calls it makes.
 */
const SUCCEEDED_AFTER_BEATS = 40;
const SUCCEEDED_AFTER_CALLS = 500;
/** After that, a holder continues for at most this long, for requests that have no other one yet. */
const DRAIN_BEATS = 60;
/** No call is made beyond this number. */
const CALLS_MAX = 900;
/** A row that is sent another way takes at least one call to the Cell and, when that fails, one to the Ledger. */
const RESEND_CALLS = 2;
/** A holder that has had nothing to do for this long ends. */
const IDLE_BEATS = 3;
/**
 * A message that no request waits for is sent after this long, together with what was queued meanwhile. Exchanges with
 * a distant Cell follow one another at this interval.
 */
const GATHER_MS = 4;
/** Exchanges that may be under way at once. */
const UNDER_WAY_MAX = 16;
/** A Cell that does not answer an exchange for this long is taken to be lost. */
const ANSWER_MAX_MS = 5_000;
/** Beats between two checks for requests whose code is gone. */
const LOOK_BEATS = 10;
/** A holder whose last beat is older than this may have been cut off with its request. */
const LATE_MS = 700;
/**
 * A holder is lost if it is still late this long after a request noticed it: until then the whole isolate may have been
 * paused, and have resumed with that request.
 */
const CUT_OFF_AFTER_MS = 300;
/** A lost session is followed by another one at once, and then by attempts this far apart, for as long as a Cell may take to start. */
const OPEN_EVERY_MS = 200;
const OPEN_ATTEMPTS = 30;
/** After a session that lasted this many beats, attempts are counted from zero again. */
const LASTING_BEATS = 10;

interface HolderOptions {
  readonly table: MemberTable;
  /** The request in whose context it runs, if that has a slot or waits for one. */
  readonly requestId: string | null;
  /** Opens a session with the messages of the table. */
  readonly open: (
    message: ExchangeMessage,
  ) => Promise<{ readonly session: ExchangeSession; readonly answer: ExchangeAnswer }>;
  /** Whether another holder opens a session: messages sent by this one now might arrive after that, and would be refused. */
  readonly yields: () => boolean;
  readonly clock: Clock;
  readonly log: Log;
  readonly cell: string;
  /** Called when a session starts to serve. */
  readonly opened: () => void;
  /**
   * Called when no session could be opened; the holder keeps trying while there are live requests. Returns whether the Cell is
   * unavailable: another holder may have a session.
   */
  readonly away: (error: unknown) => boolean;
  /** Sends a row another way; never rejects. Null: a holder does so. */
  readonly resend: (record: RowRecord) => Promise<void> | null;
}

/** One session, from its first answer on. */
interface Wire {
  readonly session: ExchangeSession;
  failure: Error | null;
  /** Exchanges without an answer. */
  underWay: number;
  isOver: boolean;
}

/** How a session was lost. */
interface Loss {
  readonly cause: unknown;
  /** It had its first answer, and that was taken. */
  readonly wasOpen: boolean;
  /** The beat at which it started. */
  readonly beganAt: number;
}

export class SessionHolder {
  readonly #options: HolderOptions;
  readonly #table: MemberTable;
  #beats = 0;
  /** The time of the last beat, epoch ms. */
  #beatMs: number;
  /** The beat at which it had something to do last. */
  #usedAt = 0;
  /** The beat at which the request that started it had ended; null: it still runs. */
  #freeAt: number | null;
  /** From this beat on another request must take over; null: none needs to. */
  #retiredAt: number | null = null;
  /** When a request has seen that the holder is late, epoch ms; null: none has, or it was alive after that. */
  #seenLateMs: number | null = null;
  #isOpening = false;
  /** It has had a session. */
  #serves = false;
  /** Another holder serves, or this one was cut off. */
  #isReplaced = false;
  #calls = 0;
  /** The rows that it sends another way, by request. */
  readonly #resent = new Map<string, Promise<void>>();
  #wake: () => void = () => undefined;

  constructor(options: HolderOptions) {
    this.#options = options;
    this.#table = options.table;
    this.#beatMs = options.clock();
    this.#freeAt = options.requestId === null ? 0 : null;
  }

  /** Another request must take over, and starts a holder that replaces this one when it has a session. */
  get wantsSuccessor(): boolean {
    return this.#retiredAt !== null || this.#calls >= SUCCEEDED_AFTER_CALLS;
  }

  /** It may have a session soon: other holders leave the messages to it. */
  get isOpening(): boolean {
    return this.#isOpening && !this.#isReplaced;
  }

  /** A request has seen it late, and it was not alive after that. */
  get isLate(): boolean {
    return this.#seenLateMs !== null;
  }

  /**
   * The request in whose context this runs was cut off: no code sends or receives anything any more. Until it is sure, the whole
   * isolate may have stood still.
   */
  get isCutOff(): boolean {
    const nowMs = this.#options.clock();
    // When the clock was set back, the recorded time is limited to now.
    this.#beatMs = Math.min(this.#beatMs, nowMs);
    if (nowMs <= this.#beatMs + LATE_MS) return false;
    this.#seenLateMs = Math.min(this.#seenLateMs ?? nowMs, nowMs);
    return nowMs > this.#seenLateMs + CUT_OFF_AFTER_MS;
  }

  /** Whether it sends this row another way. */
  resends(requestId: string): boolean {
    return this.#resent.has(requestId);
  }

  /** Reports that there is something to send. */
  wake(): void {
    this.#usedAt = this.#beats;
    this.#wake();
  }

  /** Another holder serves from now on. */
  replace(): void {
    this.#isReplaced = true;
    this.#wake();
  }

  /** Resolves when it is over, and the rows that it sent another way have arrived. Never rejects. */
  async run(): Promise<void> {
    // Messages queued in the same turn are sent with the first one.
    await Promise.resolve();
    const beat = setInterval(() => this.#beat(), BEAT_MS);
    for (let attempt = 1; attempt <= OPEN_ATTEMPTS && this.#mayOpen; attempt += 1) {
      const loss = await this.#session();
      if (loss === null) break;
      this.#table.sendAgain();
      if (this.#table.isEmpty) break;
      const { cause, wasOpen, beganAt } = loss;
      if (wasOpen && this.#beats >= beganAt + LASTING_BEATS) attempt = 0;
      else if (attempt > 1 || !(wasOpen || mayCallAgain(cause))) {
        if (!wasOpen && !this.#isReplaced && this.#options.away(cause)) this.#sendUnsaved();
        await sleep(OPEN_EVERY_MS);
      }
    }
    this.#retiredAt ??= this.#beats;
    // Later reports of the Cell about messages of this session reach nobody.
    if (!this.#isReplaced) this.#table.sendAgain();
    await Promise.all(this.#resent.values());
    clearInterval(beat);
  }

  get #mayOpen(): boolean {
    return !this.#isReplaced && this.#retiredAt === null && this.#calls < CALLS_MAX && !this.#table.isEmpty;
  }

  #beat(): void {
    const { requestId, clock } = this.#options;
    if (requestId !== null && !this.#table.has(requestId)) this.#freeAt ??= this.#beats;
    this.#beats += 1;
    this.#beatMs = clock();
    this.#seenLateMs = null;
    const isOld = this.#freeAt !== null && this.#beats >= this.#freeAt + SUCCEEDED_AFTER_BEATS;
    if (isOld || this.wantsSuccessor) this.#retiredAt ??= this.#beats;
    // Several holders that look at the same time would find living requests silent. A lost request starts no successor, so
    // this one looks until it is replaced: in the rest of its session it looks five times.
    const looks = this.#serves && !this.#isReplaced;
    if (looks && this.#beats % LOOK_BEATS === 0) this.#table.look();
    this.#wake();
  }

  /** Runs one session. Returns how it was lost; null: it ended normally. */
  async #session(): Promise<Loss | null> {
    const { open, opened, cell, log } = this.#options;
    const beganAt = this.#beats;
    let wasOpen = false;
    try {
      const message = this.#table.first();
      this.#calls += 1;
      this.#isOpening = true;
      const { session, answer } = await this.#answered(open(message), (late) => late.session[Symbol.dispose]());
      try {
        this.#applyAnswer(answer, message);
        wasOpen = true;
        if (!this.#isReplaced) {
          this.#serves = true;
          opened();
        }
        this.#isOpening = false;
        await this.#serve(session);
      } finally {
        session[Symbol.dispose]();
      }
      return null;
    } catch (cause) {
      this.#isOpening = false;
      if (!this.#isReplaced) log.event("exchange_lost", { cell, reason: rootCause(cause) });
      return { cause, wasOpen, beganAt };
    }
  }

  /** Uses a session until it ends. Throws when it is lost. */
  async #serve(session: ExchangeSession): Promise<void> {
    const wire: Wire = { session, failure: null, underWay: 0, isOver: false };
    const listening = this.#listen(wire);
    try {
      let gathering: { readonly isOver: boolean } | null = null;
      while (this.#goesOn(wire)) {
        if (this.#maySend(wire)) {
          // At once when a request waits for the answer, and no exchange is under way.
          if ((this.#table.isUrgent && wire.underWay === 0) || gathering?.isOver === true) {
            gathering = null;
            const message = this.#table.take();
            if (message !== null) void this.#exchange(wire, message);
          } else gathering ??= this.#gather();
        }
        await this.#pause(wire);
      }
      this.#retiredAt ??= this.#beats;
      while (wire.underWay > 0 && wire.failure === null) await this.#pause(wire);
    } finally {
      wire.isOver = true;
      // A pending call keeps the session alive at the Cell even after the session is disposed. Its last answer may contain
      // reports that the Cell gives to no other session. There is no wait for a lost Cell: another session is opened at once.
      const closed = Promise.all([session.close(), listening]).catch(() => undefined);
      if (wire.failure === null) await this.#answered(closed).catch(() => undefined);
    }
    if (wire.failure !== null) throw wire.failure;
  }

  /** Whether the session continues. Throws when it is lost. */
  #goesOn({ failure }: Wire): boolean {
    if (failure !== null) throw failure;
    if (this.#isReplaced || this.#calls >= CALLS_MAX) return false;
    if (this.#retiredAt === null) return !this.#table.isEmpty || this.#beats < this.#usedAt + IDLE_BEATS;
    return !this.#table.isEmpty && this.#beats < this.#retiredAt + DRAIN_BEATS;
  }

  #maySend({ underWay }: Wire): boolean {
    return this.#table.hasMessage && underWay < UNDER_WAY_MAX && !this.#options.yields();
  }

  #gather(): { readonly isOver: boolean } {
    const gathering = { isOver: false };
    setTimeout(() => {
      gathering.isOver = true;
      this.#wake();
    }, GATHER_MS);
    return gathering;
  }

  /** Never rejects: a failed exchange ends the session. */
  async #exchange(wire: Wire, message: ExchangeMessage): Promise<void> {
    this.#calls += 1;
    wire.underWay += 1;
    try {
      this.#applyAnswer(await this.#answered(wire.session.exchange(message)), message);
    } catch (error) {
      this.#fail(wire, error);
    }
    wire.underWay -= 1;
    this.#wake();
  }

  /** Keeps one call pending at all times: it rejects when the Cell is reset. Never rejects itself. */
  async #listen(wire: Wire): Promise<void> {
    try {
      while (!wire.isOver && this.#calls < CALLS_MAX) {
        this.#calls += 1;
        this.#applyAnswer(await wire.session.news());
        this.#wake();
      }
    } catch (error) {
      this.#fail(wire, error);
    }
  }

  #fail(wire: Wire, error: unknown): void {
    wire.failure ??= error instanceof Error ? error : new Error("the Cell is lost");
    this.#wake();
  }

  #applyAnswer(answer: ExchangeAnswer, message?: ExchangeMessage): void {
    const isOld = this.#isReplaced || this.#options.yields();
    for (const record of this.#table.applyAnswer(answer, message?.departures, isOld)) this.#sendRow(record);
  }

  /** Sends every row another way that this holder has calls for. */
  #sendUnsaved(): void {
    for (const record of this.#table.rows) {
      if (this.#calls >= CALLS_MAX) return;
      this.#sendRow(record);
    }
  }

  #sendRow(record: RowRecord): void {
    const { request_id: requestId } = record.row;
    const sent = this.#options.resend(record);
    if (sent === null) return;
    this.#calls += RESEND_CALLS;
    this.#resent.set(requestId, sent);
    void sent.then(() => this.#resent.delete(requestId));
  }

  async #pause({ failure }: Wire): Promise<void> {
    const woken = Promise.withResolvers<void>();
    this.#wake = woken.resolve;
    if (failure === null) await woken.promise;
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
