/**
 * Ends the upstream work of a call, and lets it start nothing more, with the error that its client gets: its slot is lost
 * (docs/rules/admission.md#leases-of-isolates), its caller is refused (docs/rules/keys.md#running-requests), or the gateway
 * stops (docs/rules/local-stack.md#stop). The interruption of a call includes that of its isolate, and a sub-call's that of its
 * request.
 */
import type { GatewayError } from "../../../shared/errors.ts";
import { ClientGone } from "./client-gone.ts";

export class Interruption {
  readonly #of: Interruption | null;
  readonly #listeners = new Set<() => void>();
  #failure: GatewayError | null = null;
  #watch: (() => () => void) | null = null;
  #endWatch: (() => void) | null = null;

  /** `of`: the interruption that interrupts this one too. */
  constructor(of: Interruption | null = null) {
    this.#of = of;
  }

  /** The error for the client; null: nothing was interrupted. */
  get failure(): GatewayError | null {
    return this.#failure ?? this.#of?.failure ?? null;
  }

  /**
   * Calls `listener` after the interruption, at once when it was before. The returned function cancels that; a listener of an isolate
   * would be kept for ever without it.
   */
  listen(listener: () => void): () => void {
    if (this.failure !== null) {
      listener();
      return () => undefined;
    }
    // The code that interrupts may belong to another request, which must not touch objects of this request.
    const { promise, resolve } = Promise.withResolvers<void>();
    void promise.then(listener);
    this.#listeners.add(resolve);
    this.#endWatch ??= this.#watch?.() ?? null;
    const callOff = this.#of?.listen(listener);
    return () => {
      this.#listeners.delete(resolve);
      this.#unwatch();
      callOff?.();
    };
  }

  /** The result of the work, which continues without its waiter after an interruption. Throws ClientGone then. */
  async until<T>(work: Promise<T>): Promise<T> {
    const ended = Promise.withResolvers<never>();
    const callOff = this.listen(() => ended.reject(new ClientGone()));
    try {
      return await Promise.race([work, ended.promise]);
    } finally {
      callOff();
    }
  }

  /** `watch` looks for a reason to interrupt, and returns what ends that: it runs while anybody listens, so it ends with the call. */
  watch(watch: () => () => void): void {
    this.#watch = watch;
  }

  interrupt(failure: GatewayError): void {
    this.#failure ??= failure;
    for (const listener of this.#listeners) listener();
    this.#listeners.clear();
    this.#unwatch();
  }

  #unwatch(): void {
    if (this.#listeners.size > 0) return;
    this.#endWatch?.();
    this.#endWatch = null;
  }
}
