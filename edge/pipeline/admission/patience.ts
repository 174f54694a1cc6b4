/**
 * Waiting for an owner of the Cell (docs/rules/admission.md#between-owners): in a cluster of several machines the Cell has no
 * owner from the loss of its machine until its lease has ended. A request waits for the next owner instead of failing.
 */
import { GatewayError } from "../../../shared/errors.ts";
import { ClientGone } from "../call/client-gone.ts";
import type { Call } from "../call/context.ts";

/** Requests of an isolate that may wait for an owner at once: each takes about 30 KB. Further ones fail as without patience. */
const PATIENT_MAX = 5_000;
const FIRST_PAUSE_MS = 100;
const PAUSE_MAX_MS = 1_000;
/** A Cell that has not answered for this long may be one that has no owner. The last attempt may take as long. */
const SILENT_AFTER_MS = 1_000;

let patient = 0;

/** Whether a call failed because its Cell could not be reached. */
export function isAway(error: unknown): boolean {
  return error instanceof GatewayError && error.code === "scheduler_unavailable";
}

/** How long one request has waited for an owner since the last one was lost. */
export class Patience {
  readonly #call: Call;
  #sinceMs: number | null = null;
  #pauseMs = FIRST_PAUSE_MS;
  #paused = false;
  #isOver = false;
  #forBudgets = false;

  constructor(call: Call) {
    this.#call = call;
  }

  /** Whether the request waits for an owner. */
  get began(): boolean {
    return this.#paused;
  }

  /**
   * The answer of the Cell. An owner that is silent fails nothing, so the wait begins before it is asked: this fails like a Cell that
   * cannot be reached when the patience ends, or when too many requests wait.
   */
  async awaited<T>(answer: Promise<T>): Promise<T> {
    const { config, ports } = this.#call;
    if (config.admissionPatienceMs === 0) return await answer;
    this.#sinceMs ??= ports.clock();
    const over = new AbortController();
    try {
      return await Promise.race([answer, this.#silence(this.#sinceMs, over.signal)]);
    } finally {
      over.abort();
    }
  }

  /** Fails when the patience ends. Once `over` is aborted, nobody waits for it. */
  async #silence(sinceMs: number, over: AbortSignal): Promise<never> {
    const { config, ports } = this.#call;
    await ports.sleep(SILENT_AFTER_MS, over);
    if (!over.aborted && patient < PATIENT_MAX) {
      patient += 1;
      try {
        const leftMs = config.admissionPatienceMs - (ports.clock() - sinceMs);
        await ports.sleep(Math.max(0, Math.min(leftMs, config.admissionPatienceMs)), over);
      } finally {
        patient -= 1;
      }
    }
    // The Cell is not asked again, even if the timer was early: it has the request, which ends with its refusal.
    if (!over.aborted) this.#isOver = true;
    throw new GatewayError("scheduler_unavailable");
  }

  /**
   * The Cell has an owner: when that is lost too, the wait begins anew. Once budgets were waited for it does not, because they may be
   * away each time that the request gets its turn.
   */
  answered(): void {
    if (this.#forBudgets) return;
    this.#sinceMs = null;
    this.#paused = false;
    this.#pauseMs = FIRST_PAUSE_MS;
  }

  /**
   * Pauses before the next attempt at the Cell. False: the patience is over, nobody has any, or too many requests wait. Throws
   * ClientGone. Pauses double up to a second, and the last one ends with the patience. `forBudgets`: the Cell has an owner, and its
   * budgets have none.
   */
  async pause(forBudgets = false): Promise<boolean> {
    this.#forBudgets ||= forBudgets;
    const { config, ports, request } = this.#call;
    const nowMs = ports.clock();
    this.#sinceMs ??= nowMs;
    // A clock that is set back must not prolong the wait without end: what it took away counts as waited.
    if (nowMs < this.#sinceMs) return false;
    this.#paused = true;
    const leftMs = config.admissionPatienceMs - (nowMs - this.#sinceMs);
    if (this.#isOver || leftMs <= 0 || patient >= PATIENT_MAX) return false;
    patient += 1;
    try {
      await ports.sleep(Math.min(this.#pauseMs, leftMs), request.signal);
    } finally {
      patient -= 1;
    }
    this.#pauseMs = Math.min(PAUSE_MAX_MS, this.#pauseMs * 2);
    if (request.signal.aborted) throw new ClientGone();
    return true;
  }
}
