/**
 * Keeps a copy of a body up to a bound; beyond it nothing is kept, for a cut copy is worse than none.
 */
export class Capture {
  readonly #maxBytes: number;
  #chunks: Uint8Array[] | null = [];
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  push(chunk: Uint8Array): void {
    if (this.#chunks === null) return;
    this.#bytes += chunk.byteLength;
    if (this.#bytes > this.#maxBytes) this.#chunks = null;
    else this.#chunks.push(chunk.slice());
  }

  /** The whole body, or null when it was larger than the bound. */
  take(): Uint8Array | null {
    if (this.#chunks === null) return null;
    const body = new Uint8Array(this.#bytes);
    let at = 0;
    for (const chunk of this.#chunks) {
      body.set(chunk, at);
      at += chunk.byteLength;
    }
    return body;
  }
}
