/**
 * The end of one upstream attempt: its client gone, or its deadline passed, as one signal (design §3 law 4). The deadline
 * covers everything from sending to the last byte of the answer.
 */
import { ClientGone } from "./context.ts";
import type { FirstLook } from "./first-look.ts";

export class Stop {
  readonly #controller = new AbortController();
  readonly #client: AbortSignal;
  readonly #timeoutMs: number;
  readonly #waits: FirstLook;
  readonly #onGone = (): void => this.#controller.abort(new ClientGone());
  #callOff: (() => void) | null = null;
  #timedOut = false;

  constructor(client: AbortSignal, timeoutMs: number, waits: FirstLook) {
    this.#client = client;
    this.#waits = waits;
    this.#timeoutMs = timeoutMs;
    this.resume();
    if (client.aborted) this.#onGone();
    else client.addEventListener("abort", this.#onGone, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get timedOut(): boolean {
    return this.#timedOut;
  }

  /** The client left, as the platform or a failed write has told. */
  get clientGone(): boolean {
    return this.#client.aborted;
  }

  /** An answer is kept aside while another attempt is made: its time stands still. */
  suspend(): void {
    this.#callOff?.();
    this.#callOff = null;
  }

  /** After a suspension the full time starts anew; without one nothing changes. */
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

  /** The answer is complete: nothing is left to end. */
  release(): void {
    this.#callOff?.();
    this.#client.removeEventListener("abort", this.#onGone);
  }
}
