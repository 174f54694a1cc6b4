/**
 * What keeps a body coming while nobody reads it: its copy is pumped natively into a store that is never looked at, so that
 * a read of the other copy then gives all that is there. Takes no more than it has been asked to, and holds nothing back.
 */

const FILL_MIN_BYTES = 16 * 1024;
const FILL_MAX_BYTES = 64 * 1024;

/** Takes a body natively, as much as it has been asked to, and forgets it. */
export class ReadAhead {
  readonly #reader: ReadableStreamBYOBReader;
  #bytes = FILL_MIN_BYTES;
  #taken = 0;
  #filling = false;
  #ended = false;
  #whole = false;
  #cancelled = false;
  #wake: (() => void) | null = null;

  constructor(body: ReadableStream<Uint8Array>) {
    const { readable, writable } = new IdentityTransformStream();
    this.#reader = readable.getReader({ mode: "byob" });
    const ended = (): void => {
      this.#ended = true;
      this.#wake?.();
    };
    body.pipeTo(writable).then(ended, ended);
  }

  /** Bytes of the whole body; null as long as it has not ended, and for good when it has broken off. */
  get total(): number | null {
    return this.#whole ? this.#taken : null;
  }

  /** Lets one store full of bytes come, unless one is coming. */
  fill(): void {
    if (!this.#filling && !this.#ended) void this.#fill();
  }

  /** Until the store is full, no more will come, or the time has passed. */
  async filled(ms: number): Promise<void> {
    if (this.#ended || !this.#filling) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    const timer = setTimeout(resolve, ms);
    await promise;
    clearTimeout(timer);
    this.#wake = null;
  }

  async cancel(): Promise<void> {
    this.#cancelled = true;
    await this.#reader.cancel().catch(() => undefined);
  }

  async #fill(): Promise<void> {
    this.#filling = true;
    try {
      const { value } = await this.#reader.readAtLeast(this.#bytes, new Uint8Array(this.#bytes));
      const bytes = value?.byteLength ?? 0;
      this.#taken += bytes;
      // less than was asked for is the end
      this.#whole = bytes < this.#bytes && !this.#cancelled;
      this.#ended = bytes < this.#bytes;
      this.#bytes = Math.min(this.#bytes * 2, FILL_MAX_BYTES);
    } catch {
      this.#ended = true;
    }
    this.#filling = false;
    this.#wake?.();
  }
}
