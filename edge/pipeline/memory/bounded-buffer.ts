/**
 * Keeps a copy of a body up to a bound, and within the isolate's room for answers; beyond either nothing is kept, for a cut
 * copy is worse than none.
 */
import type { MemoryReservation } from "./memory-budget.ts";

export class BoundedBuffer {
  readonly #maxBytes: number;
  readonly #hold: MemoryReservation;
  #chunks: Uint8Array<ArrayBuffer>[] | null = [];
  #bytes = 0;

  /** What is kept is counted by `hold`, which {@link close} closes. */
  constructor(maxBytes: number, hold: MemoryReservation) {
    this.#maxBytes = maxBytes;
    this.#hold = hold;
  }

  push(chunk: Uint8Array): void {
    if (this.#chunks === null) return;
    this.#bytes += chunk.byteLength;
    if (this.#bytes > this.#maxBytes || !this.#hold.grow(chunk.byteLength)) this.close();
    else this.#chunks.push(new Uint8Array(chunk));
  }

  /** The whole body, or null when it was not kept. It counts as held until {@link close}. */
  take(): Uint8Array<ArrayBuffer> | null {
    if (this.#chunks === null) return null;
    const [only, more] = this.#chunks;
    if (only !== undefined && more === undefined) return only;
    const body = new Uint8Array(this.#bytes);
    let at = 0;
    for (const chunk of this.#chunks) {
      body.set(chunk, at);
      at += chunk.byteLength;
    }
    return body;
  }

  /** Lets go of what is kept. */
  close(): void {
    this.#chunks = null;
    this.#hold.close();
  }
}
