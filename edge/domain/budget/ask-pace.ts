/**
 * When a pool may ask the budget object again. Times are of the Cell's SteadyTime. Invariant: whatever the object answers,
 * an ask follows on another at once only when something has moved on since: a request was decided, or left, or arrived. So
 * asks are bounded by requests and by time.
 */

/** How long nothing is asked for requests to come, after an answer that brought nothing. */
const RETRY_PREFETCH_MS = 1_000;
/**
 * How long an object that did not answer is not asked, and those who come are told so: who comes next would wait for its
 * deadline, on a slot.
 */
const SILENCE_STANDS_MS = 250;
/** How long nothing is asked for requests to come after a lease that ended without a use. */
const UNUSED_MS = 250;
/** Answers in a row that do not decide the request they are for, before it is given up: what is held goes back first. */
const UNDECIDED_MAX = 2;

/** Why requests are given up: the object gave no answer to go by, or it said that the ask was none. */
export type GivenUp = "unavailable" | "invalid";

export class AskPace {
  #prefetchFromMs = Number.NEGATIVE_INFINITY;
  #silence: { readonly untilMs: number; readonly kind: GivenUp } | null = null;
  #undecidedId: string | null = null;
  #undecidedTimes = 0;

  /** Whether to ask for requests to come. */
  mayPrefetch(nowMs: number): boolean {
    return nowMs >= this.#prefetchFromMs;
  }

  /** What requests that come now are told without an ask; null: ask. */
  get silence(): GivenUp | null {
    return this.#silence?.kind ?? null;
  }

  /** Until when that is so; null: it is not. */
  get silentUntilMs(): number | null {
    return this.#silence?.untilMs ?? null;
  }

  /** Ends a silence that has lasted long enough. */
  expire(nowMs: number): void {
    if (this.#silence !== null && nowMs >= this.#silence.untilMs) this.#silence = null;
  }

  /** The object has given something. */
  gave(): void {
    this.#prefetchFromMs = Number.NEGATIVE_INFINITY;
  }

  /** The object has nothing to give to requests to come. */
  gaveNothing(nowMs: number): void {
    this.#prefetchFromMs = nowMs + RETRY_PREFETCH_MS;
  }

  /** A lease has ended that nobody drew from. */
  unused(nowMs: number): void {
    this.#prefetchFromMs = nowMs + UNUSED_MS;
  }

  /** The object gave no answer to go by. */
  fellSilent(kind: GivenUp, nowMs: number): void {
    this.gaveNothing(nowMs);
    this.#silence = { untilMs: nowMs + SILENCE_STANDS_MS, kind };
    this.#undecidedId = null;
  }

  /** An answer did not decide the request that it is for, which still waits. True: that has happened too often. */
  undecided(requestId: string): boolean {
    this.#undecidedTimes = requestId === this.#undecidedId ? this.#undecidedTimes + 1 : 1;
    this.#undecidedId = requestId;
    return this.#undecidedTimes > UNDECIDED_MAX;
  }
}
