/**
 * The end of one upstream attempt (its client is gone, one of its time limits has passed, its reader was cut off, or its call
 * was interrupted) as one signal (docs/rules/upstream-calls.md#abort-and-cancel).
 */

import type { GatewayError } from "../../../shared/errors.ts";
import type { Clock } from "../../ports.ts";
import { ClientGone } from "../call/client-gone.ts";
import type { Interruption } from "../call/interruption.ts";
import type { SharedTimer } from "../call/shared-timer.ts";
import { StallWatch } from "../call/stall-watch.ts";

/** How long an attempt may take, ms (docs/rules/upstream-calls.md#time-limits). */
export interface TimeLimits {
  /** From sending to the last byte of the answer. */
  readonly wholeMs: number;
  /** From sending until the answer starts; 0: no limit. */
  readonly firstMs: number;
  /** For each read after that; 0: no limit. */
  readonly idleMs: number;
}

export class AttemptCancellation {
  /** Watches the reads of an answer that has started. */
  readonly idle: StallWatch;
  readonly #controller = new AbortController();
  readonly #client: AbortSignal;
  readonly #wholeMs: number;
  readonly #waits: SharedTimer;
  readonly #interruption: Interruption;
  readonly #callOffInterruption: () => void;
  readonly #onGone = (): void => this.#controller.abort(new ClientGone());
  readonly #callOffFirst: () => void;
  #callOff: (() => void) | null = null;
  #timedOut: string | null = null;
  #readerStalled = false;
  #isFinished = false;

  constructor(
    client: AbortSignal,
    { wholeMs, firstMs, idleMs }: TimeLimits,
    waits: SharedTimer,
    clock: Clock,
    interruption: Interruption,
  ) {
    this.#client = client;
    this.#interruption = interruption;
    this.#waits = waits;
    this.#wholeMs = wholeMs;
    this.resume();
    const expireFirst = (): void => this.#expire(`no first event within ${firstMs / 1000} s`);
    this.#callOffFirst = firstMs === 0 ? () => undefined : waits.after(firstMs, expireFirst);
    this.idle = new StallWatch(waits, clock, idleMs, () => this.#expire(`nothing for ${idleMs / 1000} s`));
    if (client.aborted) this.#onGone();
    else client.addEventListener("abort", this.#onGone, { once: true });
    this.#callOffInterruption = interruption.listen(() => this.#controller.abort(interruption.failure));
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The expired time limit, in words; null if none has expired. */
  get timedOut(): string | null {
    return this.#timedOut;
  }

  /** The error for the client if the call was interrupted while the attempt ran; otherwise null. */
  get interrupted(): GatewayError | null {
    return this.#interruption.failure;
  }

  /** The client left, as the platform has reported, or was cut off. */
  get clientGone(): boolean {
    return this.#readerStalled || this.#client.aborted;
  }

  /** The client was cut off because it took nothing. */
  get readerStalled(): boolean {
    return this.#readerStalled;
  }

  /** Aborted when the client leaves. */
  get client(): AbortSignal {
    return this.#client;
  }

  /**
   * Cuts off a client that takes nothing of its waiting answer: it is treated like one that left
   * (docs/rules/streams.md#stalled-readers).
   */
  cutOffReader(): void {
    this.#readerStalled = true;
    this.abort();
  }

  /** The answer has started. */
  begun(): void {
    this.#callOffFirst();
  }

  /** Stops the deadline while an answer is kept and another attempt is made. */
  suspend(): void {
    this.#callOff?.();
    this.#callOff = null;
  }

  /** Starts the full deadline again after a suspension; without a suspension nothing changes. */
  resume(): void {
    const wholeMs = this.#wholeMs;
    this.#callOff ??= this.#waits.after(wholeMs, () => this.#expire(`no complete answer within ${wholeMs / 1000} s`));
  }

  /** The call was ended because its answer was whole: the received part still goes to the client. */
  get isFinished(): boolean {
    return this.#isFinished;
  }

  /** Ends the upstream call of an answer that is whole. */
  finish(): void {
    this.#isFinished = !this.signal.aborted;
    this.#controller.abort(new DOMException("the answer is whole", "AbortError"));
  }

  /** Ends the upstream call. */
  abort(): void {
    this.#controller.abort(new ClientGone());
    this.release();
  }

  /** The answer is complete: there is nothing left to end. */
  release(): void {
    this.#callOff?.();
    this.#callOffFirst();
    this.idle.end();
    this.#client.removeEventListener("abort", this.#onGone);
    this.#callOffInterruption();
  }
  #expire(limit: string): void {
    this.#timedOut ??= limit;
    this.#controller.abort(new DOMException("upstream deadline", "TimeoutError"));
  }
}
