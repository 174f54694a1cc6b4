/**
 * Keeps a copy of a body up to a maximum size, and within the isolate's memory for answers. Beyond either limit nothing
 * is kept, because a cut copy is worse than none.
 */
import type { MemoryReservation } from "./memory-budget.ts";

export class BoundedBuffer {
  readonly #maxBytes: number;
  readonly #reservation: MemoryReservation;
  #chunks: Uint8Array<ArrayBuffer>[] | null = [];
  #bytes = 0;

  /** `reservation` counts the kept bytes; {@link close} closes it. */
  constructor(maxBytes: number, reservation: MemoryReservation) {
    this.#maxBytes = maxBytes;
    this.#reservation = reservation;
  }

  push(chunk: Uint8Array): void {
    if (this.#chunks === null) return;
    this.#bytes += chunk.byteLength;
    if (this.#bytes > this.#maxBytes || !this.#reservation.grow(chunk.byteLength)) this.close();
    else this.#chunks.push(new Uint8Array(chunk));
  }

  /** False once more has come than may be kept. */
  get isWhole(): boolean {
    return this.#chunks !== null;
  }

  /** The complete body, or null when it was not kept. Its memory stays reserved until {@link close}. */
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

  /** Drops the kept bytes. */
  close(): void {
    this.#chunks = null;
    this.#reservation.close();
  }
}
