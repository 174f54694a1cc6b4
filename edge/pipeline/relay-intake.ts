/**
 * Where a relay that works in JavaScript takes its bytes from. Every time it is entered costs more than the bytes do, so
 * that what came meanwhile is taken at once; nothing that has come is held back for longer than GATHER_MS. Nothing is read
 * far ahead of the client.
 */

/** Least time between two reads of a stream that is faster than that. */
const GATHER_MS = 4;
const READ_MIN_BYTES = 4 * 1024;
const READ_MAX_BYTES = 64 * 1024;

/** The body of an answer, read piece by piece. */
export interface Intake {
  /** What is there, or comes next; null at the end. Rejects when the body breaks off. */
  next(): Promise<Uint8Array<ArrayBuffer> | null>;
  /** Reads no more: the upstream is told. Never rejects. */
  cancel(): Promise<void>;
}

/** Takes what each read gives. */
export class PlainIntake implements Intake {
  readonly #reader: ReadableStreamBYOBReader;
  #size = READ_MIN_BYTES;

  constructor(body: ReadableStream<Uint8Array>) {
    this.#reader = body.getReader({ mode: "byob" });
  }

  async next(): Promise<Uint8Array<ArrayBuffer> | null> {
    const { done, value } = await this.#reader.read(new Uint8Array(this.#size));
    if (done) return null;
    if (value.byteLength === this.#size) this.#size = Math.min(this.#size * 2, READ_MAX_BYTES);
    else if (value.byteLength < this.#size / 4) this.#size = Math.max(this.#size / 2, READ_MIN_BYTES);
    return value;
  }

  async cancel(): Promise<void> {
    await this.#reader.cancel().catch(() => undefined);
  }
}

/**
 * Gathers small pieces: one read of a body gives no more than one piece of it, however many have come. A copy of the body
 * is pumped natively into a store that is never looked at; that keeps the body coming, and a read of the other copy then
 * gives all that is there. The store's bound is how far the upstream is ahead of the client.
 */
export class GatheringIntake implements Intake {
  readonly #plain: PlainIntake;
  readonly #ahead: ReadableStreamBYOBReader;
  readonly #clock: () => number;
  #storeBytes = READ_MIN_BYTES;
  #filling = false;
  #ended = false;
  #cameMs = 0;
  #hurried = false;
  #wake: (() => void) | null = null;

  constructor(body: ReadableStream<Uint8Array>, clock: () => number) {
    const [toRead, toStore] = body.tee();
    const { readable, writable } = new IdentityTransformStream();
    this.#clock = clock;
    this.#plain = new PlainIntake(toRead);
    this.#ahead = readable.getReader({ mode: "byob" });
    const ended = (): void => {
      this.#ended = true;
      this.#wake?.();
    };
    toStore.pipeTo(writable).then(ended, ended);
  }

  async next(): Promise<Uint8Array<ArrayBuffer> | null> {
    if (this.#hurried) await this.#gather();
    if (!this.#filling && !this.#ended) void this.#fill();
    const bytes = await this.#plain.next();
    const nowMs = this.#clock();
    this.#hurried = nowMs - this.#cameMs < GATHER_MS;
    this.#cameMs = nowMs;
    return bytes;
  }

  async cancel(): Promise<void> {
    await Promise.all([this.#plain.cancel(), this.#ahead.cancel().catch(() => undefined)]);
  }

  /** Until enough time has passed, the store is full, or no more will come. */
  async #gather(): Promise<void> {
    if (this.#ended || !this.#filling) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    const timer = setTimeout(resolve, GATHER_MS);
    await promise;
    clearTimeout(timer);
    this.#wake = null;
  }

  /** Lets one store full of bytes come. */
  async #fill(): Promise<void> {
    this.#filling = true;
    try {
      const { done } = await this.#ahead.readAtLeast(this.#storeBytes, new Uint8Array(this.#storeBytes));
      if (done) this.#ended = true;
      else this.#storeBytes = Math.min(this.#storeBytes * 2, READ_MAX_BYTES);
    } catch {
      this.#ended = true;
    }
    this.#filling = false;
    this.#wake?.();
  }
}
