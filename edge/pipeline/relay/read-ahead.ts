/**
 * Keeps a body flowing while it is not read: one copy is pumped natively into a buffer whose content is never used, so that a
 * read of the other copy gives all available bytes. Takes no more than requested, and holds nothing back.
 */
import { releaseStack } from "../call/release-stack.ts";

const FILL_MIN_BYTES = 16 * 1024;
const FILL_MAX_BYTES = 64 * 1024;

/** Takes a body natively, as much as requested, and discards it. */
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

  /** Bytes of the complete body; null until it has ended, and for ever when it has broken off. */
  get total(): number | null {
    return this.#whole ? this.#taken : null;
  }

  /** Starts to fill one buffer, unless one is being filled already. */
  fill(): void {
    if (!this.#filling && !this.#ended) void this.#fill();
  }

  /** Waits until the buffer is full, no more will come, or the time has passed. */
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
      // fewer bytes than requested mean the end
      this.#whole = bytes < this.#bytes && !this.#cancelled;
      this.#ended = bytes < this.#bytes;
      this.#bytes = Math.min(this.#bytes * 2, FILL_MAX_BYTES);
    } catch (error) {
      releaseStack(error);
      this.#ended = true;
    }
    this.#filling = false;
    this.#wake?.();
  }
}
