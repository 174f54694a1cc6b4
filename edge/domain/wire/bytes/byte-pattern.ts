/**
 * Finds a pattern in bytes that arrive in chunks, in linear time for any bytes and any pattern (Knuth, Morris and Pratt): both
 * come from a client.
 */
export class BytePattern {
  readonly bytes: Uint8Array;
  /** For each number of matched bytes: the longest shorter prefix of the pattern that those bytes end with. */
  readonly #shorter: Uint32Array;

  /** `bytes`: at least one. */
  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.#shorter = new Uint32Array(bytes.byteLength + 1);
    let matched = 0;
    for (let at = 1; at < bytes.byteLength; at += 1) {
      matched = this.#next(matched, bytes[at]);
      this.#shorter[at + 1] = matched;
    }
  }

  /**
   * The first place from `from` on at which the pattern is found; else the earliest place at which it may have started before
   * the bytes ended; else the end of the bytes. The match is complete when `bytes` are long enough after it.
   */
  find(bytes: Uint8Array, from: number): number {
    const [first = 0] = this.bytes;
    const { byteLength } = this.bytes;
    let matched = 0;
    for (let at = from; at < bytes.byteLength; at += 1) {
      if (matched === 0) {
        at = bytes.indexOf(first, at);
        if (at === -1) return bytes.byteLength;
      }
      matched = this.#next(matched, bytes[at]);
      if (matched === byteLength) return at + 1 - byteLength;
    }
    return bytes.byteLength - matched;
  }

  #next(matched: number, byte: number | undefined): number {
    let length = matched;
    while (length > 0 && byte !== this.bytes[length]) length = this.#shorter[length] ?? 0;
    return byte === this.bytes[length] ? length + 1 : 0;
  }
}
