/**
 * Reads the body of an answer for a relay that works in JavaScript. Each entry into JavaScript costs more than the
 * bytes do, so everything that has come meanwhile is taken at once. Nothing that has come is held back for longer than
 * GATHER_MS, or, when the client or the isolate is behind anyway, for longer than GATHER_BEHIND_MAX_MS. Nothing is read
 * far ahead of the client.
 */
import { releaseStack } from "../call/release-stack.ts";
import type { StallWatch } from "../call/stall-watch.ts";
import { ReadAhead } from "./read-ahead.ts";

/** A stream is fast while its pieces come at shorter intervals than this. */
const FAST_MS = 4;
/** Pieces are gathered after this many fast pieces in a row. */
const FAST_PIECES = 3;
/** How long pieces are gathered. */
const GATHER_MS = 8;
/**
 * Pieces differ in size. A read that gave more than this many times the size of a single piece gave more than one
 * piece.
 */
const MORE_THAN_ONE = 1.5;
/**
 * A client, or an isolate, that takes longer for a piece is behind; when that happens twice in a row, it gets fewer and
 * larger pieces.
 */
const BEHIND_MS = 8;
const BEHIND_PIECES = 2;
const GATHER_BEHIND_MAX_MS = 100;
/** After this many reads in a row that were neither fast nor behind, gathering is not worth its memory. */
const CALM_PIECES = 16;
/** A stream that became fast this often is gathered to its end: each new start adds a copy of a copy. */
const GATHERINGS_MAX = 8;
const READ_MIN_BYTES = 4 * 1024;
const READ_GATHERED_BYTES = 16 * 1024;
const READ_MAX_BYTES = 64 * 1024;

/** The body of an answer, read piece by piece. */
export interface BodyReader {
  /** Nothing more will come. For some bodies this is known before the end is read. */
  readonly ended: boolean;
  /** The available bytes, or else the next ones; null at the end. Valid until the next call. Rejects when the body breaks off. */
  next(): Promise<Uint8Array<ArrayBuffer> | null>;
  /** Stops reading, and cancels the upstream body. Never rejects. */
  cancel(): Promise<void>;
}

/** Reads a body that need not be a stream of bytes: then its pieces are those of its source. */
export function anyReader(body: ReadableStream<Uint8Array>): BodyReader {
  try {
    return new PlainBodyReader(body);
  } catch {
    const reader = body.getReader();
    return {
      ended: false,
      next: async () => {
        const { value } = await reader.read();
        return value === undefined ? null : new Uint8Array(value);
      },
      cancel: async () => await reader.cancel().catch(() => undefined),
    };
  }
}

/**
 * A body whose `head` has been read; `rest` reads the bytes after it, and `idle` watches each of its reads. A body that breaks
 * off when it `isWhole` has ended normally.
 */
export class BegunBodyReader implements BodyReader {
  #head: Uint8Array<ArrayBuffer> | null;
  readonly #rest: BodyReader;
  readonly #idle: StallWatch;
  readonly #isWhole: () => boolean;

  constructor(head: Uint8Array<ArrayBuffer>, rest: BodyReader, idle: StallWatch, isWhole: () => boolean) {
    this.#head = head.byteLength === 0 ? null : head;
    this.#rest = rest;
    this.#idle = idle;
    this.#isWhole = isWhole;
  }

  get ended(): boolean {
    return this.#head === null && this.#rest.ended;
  }

  async next(): Promise<Uint8Array<ArrayBuffer> | null> {
    const head = this.#head;
    this.#head = null;
    if (head !== null) return head;
    this.#idle.begin();
    try {
      return await this.#rest.next();
    } catch (error) {
      releaseStack(error);
      if (this.#isWhole()) return null;
      throw error;
    } finally {
      this.#idle.done();
    }
  }

  async cancel(): Promise<void> {
    await this.#rest.cancel();
  }
}

/** Returns what each single read gives. */
export class PlainBodyReader implements BodyReader {
  readonly ended = false;
  readonly #reader: ReadableStreamBYOBReader;
  readonly #leastSize: number;
  #size: number;
  /** The buffer of the last read; the next read uses it when it is large enough. */
  #buffer = new ArrayBuffer(0);

  /** `size`: of the first read; `leastSize`: minimum of every later one, in bytes. */
  constructor(body: ReadableStream<Uint8Array>, size = READ_MIN_BYTES, leastSize = READ_MIN_BYTES) {
    this.#size = size;
    this.#leastSize = leastSize;
    this.#reader = body.getReader({ mode: "byob" });
  }

  async next(): Promise<Uint8Array<ArrayBuffer> | null> {
    if (this.#buffer.byteLength < this.#size) this.#buffer = new ArrayBuffer(this.#size);
    const { done, value } = await this.#reader.read(new Uint8Array(this.#buffer, 0, this.#size));
    if (done) return null;
    this.#buffer = value.buffer;
    if (value.byteLength === this.#size) this.#size = Math.min(this.#size * 2, READ_MAX_BYTES);
    else if (value.byteLength < this.#size / 4) this.#size = Math.max(this.#size / 2, this.#leastSize);
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
 * Gathers the pieces of a stream that comes fast, or whose client takes it slowly: one read of a body gives at most one piece
 * of it, however many have come. One copy of the body is pumped natively into a {@link ReadAhead}; a read of the other copy
 * then gives all available bytes. The size of the ReadAhead limits how far the upstream is ahead of the client.
 */
export class BatchingBodyReader implements BodyReader {
  /** The part that is still to be read. */
  #body: ReadableStream<Uint8Array>;
  readonly #clock: () => number;
  #plain: PlainBodyReader;
  #store: ReadAhead | null = null;
  #reads = 0;
  /** Size of the last piece that came alone. */
  #pieceBytes = 0;
  /** Bytes read since the ReadAhead was made. */
  #storedBytes = 0;
  #cameMs = 0;
  /** Reads in a row that were fast; below, reads in a row that the client took slowly. */
  #fast = 0;
  #behind = 0;
  /** Reads in a row that were neither fast nor behind. */
  #calm = 0;
  #gatherings = 0;

  constructor(body: ReadableStream<Uint8Array>, clock: () => number) {
    this.#body = body;
    this.#clock = clock;
    this.#plain = new PlainBodyReader(body);
  }

  get ended(): boolean {
    return this.#store !== null && this.#store.total === this.#storedBytes;
  }

  async next(): Promise<Uint8Array<ArrayBuffer> | null> {
    const takenMs = this.#reads === 0 ? 0 : this.#clock() - this.#cameMs;
    this.#behind = takenMs < BEHIND_MS ? 0 : this.#behind + 1;
    const behind = this.#behind >= BEHIND_PIECES;
    // A stream whose second piece comes so soon after the first will most likely continue like that.
    if (behind || this.#fast >= FAST_PIECES || (this.#reads === 2 && this.#fast > 0)) this.#gather();
    else if (this.#calm >= CALM_PIECES && this.#gatherings < GATHERINGS_MAX) this.#stopGathering();
    const waits = behind || this.#fast > 0;
    if (waits) await this.#store?.filled(behind ? Math.min(2 * takenMs, GATHER_BEHIND_MAX_MS) : GATHER_MS);
    if (this.ended) return null;
    this.#store?.fill();
    const startedMs = this.#clock();
    const bytes = await this.#plain.next();
    this.#cameMs = this.#clock();
    this.#note(bytes?.byteLength ?? 0, this.#cameMs - startedMs, waits && this.#store !== null);
    this.#calm = behind || this.#fast > 0 ? 0 : this.#calm + 1;
    return bytes;
  }

  async cancel(): Promise<void> {
    await Promise.all([this.#plain.cancel(), this.#store?.cancel()]);
  }

  /** Records the stream's pace as a read shows it: a read that was waited for is fast when it gave more than one piece. */
  #note(bytes: number, ms: number, gathered: boolean): void {
    this.#reads += 1;
    if (this.#store === null) this.#pieceBytes = bytes;
    else this.#storedBytes += bytes;
    const fast = gathered
      ? ms < GATHER_MS && bytes > this.#pieceBytes * MORE_THAN_ONE
      : ms < (this.#reads === 2 ? GATHER_MS : FAST_MS);
    this.#fast = fast ? this.#fast + 1 : 0;
  }

  #gather(): void {
    if (this.#store !== null) return;
    this.#gatherings += 1;
    this.#storedBytes = 0;
    this.#plain.release();
    const [toRead, toStore] = this.#body.tee();
    this.#body = toRead;
    this.#plain = new PlainBodyReader(toRead, READ_GATHERED_BYTES, READ_GATHERED_BYTES);
    this.#store = new ReadAhead(toStore);
    this.#store.fill();
  }

  #stopGathering(): void {
    void this.#store?.cancel();
    this.#store = null;
  }
}
