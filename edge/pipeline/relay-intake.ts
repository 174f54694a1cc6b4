/**
 * Where a relay that works in JavaScript takes its bytes from. Every time it is entered costs more than the bytes do, so
 * that what came meanwhile is taken at once; nothing that has come is held back for longer than GATHER_MS, and only for a
 * client or an isolate that is behind anyway up to GATHER_BEHIND_MAX_MS. Nothing is read far ahead of the client.
 */

/** A stream is fast while its pieces come at shorter intervals. */
const FAST_MS = 4;
/** So many fast pieces in a row are gathered. */
const FAST_PIECES = 3;
/** How long is gathered. */
const GATHER_MS = 8;
/** A client, or an isolate, that takes longer for a piece is behind; twice in a row, and it gets fewer and larger ones. */
const BEHIND_MS = 8;
const BEHIND_PIECES = 2;
const GATHER_BEHIND_MAX_MS = 100;
/** After so many pieces in a row that were neither, gathering is not worth its store. */
const CALM_PIECES = 16;
/** A stream that turns fast as often as this is gathered to its end: each time puts a copy upon a copy. */
const GATHERINGS_MAX = 8;
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
  #size: number;

  /** `size` is that of the first read, in bytes. */
  constructor(body: ReadableStream<Uint8Array>, size = READ_MIN_BYTES) {
    this.#size = size;
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

  /** Leaves the rest of the body to another reader. */
  release(): void {
    this.#reader.releaseLock();
  }
}

/**
 * Gathers the pieces of a stream that comes fast, or whose client takes it slowly: one read of a body gives no more than one
 * piece of it, however many have come. A copy of the body is pumped natively into a store that is never looked at; that
 * keeps the body coming, and a read of the other copy then gives all that is there. The store's bound is how far the
 * upstream is ahead of the client.
 */
export class GatheringIntake implements Intake {
  /** What is still to be read. */
  #body: ReadableStream<Uint8Array>;
  readonly #clock: () => number;
  #plain: PlainIntake;
  #store: Store | null = null;
  #cameMs = 0;
  /** Pieces in a row that came fast, and that were taken slowly. */
  #fast = 0;
  #behind = 0;
  /** Pieces in a row that were neither. */
  #calm = 0;
  #gatherings = 0;

  constructor(body: ReadableStream<Uint8Array>, clock: () => number) {
    this.#body = body;
    this.#clock = clock;
    this.#plain = new PlainIntake(body);
  }

  async next(): Promise<Uint8Array<ArrayBuffer> | null> {
    const takenMs = this.#cameMs === 0 ? 0 : this.#clock() - this.#cameMs;
    this.#behind = takenMs < BEHIND_MS ? 0 : this.#behind + 1;
    const behind = this.#behind >= BEHIND_PIECES;
    this.#calm = behind || this.#fast > 0 ? 0 : this.#calm + 1;
    if (behind || this.#fast >= FAST_PIECES) this.#gather();
    else if (this.#calm >= CALM_PIECES && this.#gatherings < GATHERINGS_MAX) this.#stopGathering();
    if (behind) await this.#store?.filled(Math.min(2 * takenMs, GATHER_BEHIND_MAX_MS));
    else if (this.#fast > 0) await this.#store?.filled(GATHER_MS);
    this.#store?.fill();
    const askedMs = this.#clock();
    const bytes = await this.#plain.next();
    this.#cameMs = this.#clock();
    this.#fast = this.#cameMs - askedMs < FAST_MS ? this.#fast + 1 : 0;
    return bytes;
  }

  async cancel(): Promise<void> {
    await Promise.all([this.#plain.cancel(), this.#store?.cancel()]);
  }

  #gather(): void {
    if (this.#store !== null) return;
    this.#gatherings += 1;
    this.#plain.release();
    const [toRead, toStore] = this.#body.tee();
    this.#body = toRead;
    this.#plain = new PlainIntake(toRead);
    this.#store = new Store(toStore);
  }

  #stopGathering(): void {
    void this.#store?.cancel();
    this.#store = null;
  }
}

/** Takes a body natively, as much as it has been asked to, and forgets it. */
class Store {
  readonly #reader: ReadableStreamBYOBReader;
  #bytes = READ_MIN_BYTES;
  #filling = false;
  #ended = false;
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
    await this.#reader.cancel().catch(() => undefined);
  }

  async #fill(): Promise<void> {
    this.#filling = true;
    try {
      const { done } = await this.#reader.readAtLeast(this.#bytes, new Uint8Array(this.#bytes));
      if (done) this.#ended = true;
      else this.#bytes = Math.min(this.#bytes * 2, READ_MAX_BYTES);
    } catch {
      this.#ended = true;
    }
    this.#filling = false;
    this.#wake?.();
  }
}
