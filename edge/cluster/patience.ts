/**
 * How long one request has waited for an owner of the Cell since the last one was lost
 * (docs/rules/admission.md#between-owners): the Cell has no owner from the loss of its machine until its lease has ended.
 */
import { GatewayError } from "../../shared/errors.ts";
import type { Clock, Sleep } from "../ports.ts";

/** Requests of an isolate that may wait for an owner of one Cell at once: each takes about 30 KB. Further ones fail as without patience. */
const PATIENT_MAX = 5_000;
const FIRST_PAUSE_MS = 100;
const PAUSE_MAX_MS = 1_000;
/** A Cell that has not answered for this long may be one that has no owner. The last attempt may take as long. */
const SILENT_AFTER_MS = 1_000;

/** Shared state of the waits of an isolate. */
export interface PatienceTerms {
  readonly patienceMs: number;
  readonly clock: Clock;
  readonly sleep: Sleep;
  /** How many requests wait. */
  patient: number;
}

/** Whether a call failed because its Cell could not be reached. */
export function isAway(error: unknown): boolean {
  return error instanceof GatewayError && error.code === "scheduler_unavailable";
}

export class Patience {
  readonly #terms: PatienceTerms;
  #sinceMs: number | null = null;
  #pauseMs = FIRST_PAUSE_MS;
  #isOver = false;
  #forBudgets = false;

  constructor(terms: PatienceTerms) {
    this.#terms = terms;
  }

  /** Whether the request waits for an owner. */
  get began(): boolean {
    return this.#pauseMs > FIRST_PAUSE_MS;
  }

  /**
   * The answer of the Cell. A silent owner causes no failure, so the wait starts before the call: this fails like an
   * unreachable Cell when the patience ends, or when too many requests wait.
   */
  async awaited<T>(answer: Promise<T>): Promise<T> {
    this.#sinceMs ??= this.#terms.clock();
    const over = new AbortController();
    try {
      return await Promise.race([answer, this.#silence(this.#sinceMs, over.signal)]);
    } finally {
      over.abort();
    }
  }

  /** Fails when the patience ends. Once `over` is aborted, nobody waits for it. */
  async #silence(sinceMs: number, over: AbortSignal): Promise<never> {
    const { patienceMs, clock, sleep } = this.#terms;
    await sleep(SILENT_AFTER_MS, over);
    if (!over.aborted && this.#terms.patient < PATIENT_MAX) {
      const leftMs = patienceMs - (clock() - sinceMs);
      await this.#wait(Math.max(0, Math.min(leftMs, patienceMs)), over);
    }
    // The Cell is not asked again, even if the timer was early: it has the request, which ends with its refusal.
    if (!over.aborted) this.#isOver = true;
    throw new GatewayError("scheduler_unavailable");
  }

  /**
   * The Cell has an owner: when that one is lost too, the wait starts over. It does not once the request has waited for
   * budgets, because they may be unavailable each time that it gets its turn.
   */
  answered(): void {
    if (this.#forBudgets) return;
    this.#sinceMs = null;
    this.#pauseMs = FIRST_PAUSE_MS;
  }

  /**
   * The Cell has an owner, but its budgets have none: the wait is for the budgets' owner, and the Cell's answers do not end it.
   */
  waitsForBudgets(): void {
    this.#forBudgets = true;
  }

  /**
   * Whether the Cell may be asked again after a pause. False: the patience is over, or too many requests wait. Pauses double up to a
   * second, and the last one ends with the patience.
   */
  mayPause(): boolean {
    return this.#leftMs() > 0 && this.#terms.patient < PATIENT_MAX;
  }

  /** The next pause. */
  async pause(signal: AbortSignal): Promise<void> {
    const pauseMs = Math.min(this.#pauseMs, this.#leftMs());
    this.#pauseMs = Math.min(PAUSE_MAX_MS, this.#pauseMs * 2);
    await this.#wait(pauseMs, signal);
  }

  #leftMs(): number {
    const { patienceMs, clock } = this.#terms;
    const nowMs = clock();
    this.#sinceMs ??= nowMs;
    // A clock that is set back must not prolong the wait without end: what it took away counts as waited.
    return this.#isOver || nowMs < this.#sinceMs ? 0 : patienceMs - (nowMs - this.#sinceMs);
  }

  async #wait(ms: number, signal: AbortSignal): Promise<void> {
    this.#terms.patient += 1;
    try {
      await this.#terms.sleep(ms, signal);
    } finally {
      this.#terms.patient -= 1;
    }
  }
}
