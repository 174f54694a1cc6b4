/** Joins bytes that come in pieces of any size: keeping each piece separately takes many times its bytes. */

/** Up to this size more memory is allocated than is needed. */
const AHEAD_MAX_BYTES = 64 * 1024;

export class GrowingBytes {
  /** The first piece itself, until more comes. */
  #buffer: Uint8Array;
  #filled: number;

  constructor(first: Uint8Array) {
    this.#buffer = first;
    this.#filled = first.byteLength;
  }

  get byteLength(): number {
    return this.#filled;
  }

  /** The bytes from `from` on. Bytes that come later change none of them. */
  bytes(from = 0): Uint8Array {
    return this.#buffer.subarray(from, this.#filled);
  }

  append(bytes: Uint8Array): void {
    const filled = this.#filled + bytes.byteLength;
    if (filled > this.#buffer.byteLength) {
      const grown = new Uint8Array(Math.max(filled, Math.min(2 * filled, AHEAD_MAX_BYTES)));
      grown.set(this.bytes());
      this.#buffer = grown;
    }
    this.#buffer.set(bytes, this.#filled);
    this.#filled = filled;
  }
}
