/**
 * The end of one upstream attempt (its client is gone, its deadline has passed, its reader was cut off, or its call
 * was interrupted) as one signal (docs/rules/upstream-calls.md#abort-and-cancel). The deadline covers everything from sending to the last byte
 * of the answer.
 */

import type { GatewayError } from "../../../shared/errors.ts";
import { ClientGone } from "../call/client-gone.ts";
import type { Interruption } from "../call/interruption.ts";
import type { SharedTimer } from "../call/shared-timer.ts";

export class AttemptCancellation {
  readonly #controller = new AbortController();
  readonly #client: AbortSignal;
  readonly #timeoutMs: number;
  readonly #waits: SharedTimer;
  readonly #interruption: Interruption;
  readonly #callOffInterruption: () => void;
  readonly #onGone = (): void => this.#controller.abort(new ClientGone());
  #callOff: (() => void) | null = null;
  #timedOut = false;
  #readerStalled = false;

  constructor(client: AbortSignal, timeoutMs: number, waits: SharedTimer, interruption: Interruption) {
    this.#client = client;
    this.#interruption = interruption;
    this.#waits = waits;
    this.#timeoutMs = timeoutMs;
    this.resume();
    if (client.aborted) this.#onGone();
    else client.addEventListener("abort", this.#onGone, { once: true });
    this.#callOffInterruption = interruption.listen(() => this.#controller.abort(interruption.failure));
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get timedOut(): boolean {
    return this.#timedOut;
  }

  /** What the client is told because the call was interrupted while the attempt ran; null: it was not. */
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
   * Cuts off a client that takes nothing of what has come for it: it is treated like one that left
   * (docs/rules/streams.md#stalled-readers).
   */
  cutOffReader(): void {
    this.#readerStalled = true;
    this.abort();
  }

  /** Stops the deadline while an answer is kept and another attempt is made. */
  suspend(): void {
    this.#callOff?.();
    this.#callOff = null;
  }

  /** Starts the full deadline again after a suspension; without a suspension nothing changes. */
  resume(): void {
    this.#callOff ??= this.#waits.after(this.#timeoutMs, () => {
      this.#timedOut = true;
      this.#controller.abort(new DOMException("upstream deadline", "TimeoutError"));
    });
  }

  /** Ends the upstream call. */
  abort(): void {
    this.#controller.abort(new ClientGone());
    this.release();
  }

  /** The answer is complete: there is nothing left to end. */
  release(): void {
    this.#callOff?.();
    this.#client.removeEventListener("abort", this.#onGone);
    this.#callOffInterruption();
  }
}
