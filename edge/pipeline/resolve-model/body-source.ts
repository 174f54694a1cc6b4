/**
 * A request body as it arrives, within its size limit (docs/rules/request-bodies.md#size) and its time limits
 * (docs/rules/request-bodies.md#time-limits): a declared length above the limit is refused unread, an undeclared one as
 * soon as it exceeds the limit. With back-pressure: nothing is read before the caller asks for it.
 */

import { GatewayError } from "../../../shared/errors.ts";
import { ClientGone } from "../call/client-gone.ts";
import { releaseStack } from "../call/release-stack.ts";
import type { BodyDeadline } from "./body-deadline.ts";

const CHUNK_BYTES = 64 * 1024;

export class BodySource {
  /** The content-length, null when the client declares none. */
  readonly declaredBytes: number | null;
  readonly #reader: ReadableStreamBYOBReader | null;
  readonly #maxBytes: number;
  readonly #deadline: BodyDeadline;
  /** A buffer for the next chunk, when the last one was small. */
  #spare: ArrayBuffer | null = null;
  /** Ends with the read that started last. */
  #reading: Promise<unknown> = Promise.resolve();
  #readBytes = 0;
  #ended = false;

  /** Throws 413 `request_too_large`. */
  constructor(request: Request, maxBytes: number, deadline: BodyDeadline) {
    const length = Number(request.headers.get("content-length") ?? Number.NaN);
    this.declaredBytes = Number.isSafeInteger(length) ? length : null;
    if (this.declaredBytes !== null && this.declaredBytes > maxBytes) throw new GatewayError("request_too_large");
    this.#maxBytes = maxBytes;
    this.#deadline = deadline;
    this.#reader = request.body?.getReader({ mode: "byob" }) ?? null;
    this.#ended = this.#reader === null || this.declaredBytes === 0;
  }

  /** Whether there is nothing more to read: everything has been read, or the client has left or was too slow. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Bytes read so far. */
  get readBytes(): number {
    return this.#readBytes;
  }

  /**
   * The next bytes, null at the end. Throws 408 `request_timeout`, 413 `request_too_large`, or ClientGone when the client
   * stops sending.
   */
  async next(): Promise<Uint8Array<ArrayBuffer> | null> {
    const spare = this.#spare ?? new ArrayBuffer(CHUNK_BYTES);
    this.#spare = null;
    const value = await this.#read(new Uint8Array(spare));
    if (value === null || value.byteLength >= CHUNK_BYTES / 2) return value;
    // a small chunk must not keep the whole buffer that it was read into
    const chunk = value.slice();
    if (!this.#ended) this.#spare = value.buffer;
    return chunk;
  }

  /**
   * Reads on into a buffer, from position `at`, of a body that has not ended; returns the buffer that replaces the
   * given one. Throws as {@link next}; a body that ends before its declared length counts as broken off.
   */
  async fill(buffer: ArrayBuffer, at: number): Promise<ArrayBuffer> {
    const value = await this.#read(new Uint8Array(buffer, at));
    if (value === null) throw new ClientGone("the request body broke off");
    return value.buffer;
  }

  /**
   * Reads the rest and discards it: otherwise a client that is still writing would have its connection reset before it
   * could read its refusal. Never rejects.
   */
  async discard(): Promise<void> {
    if (this.#reader === null) return;
    try {
      while (!this.#ended) {
        const { done } = await this.#nextOf(this.#reader, new Uint8Array(CHUNK_BYTES));
        if (done) this.#end();
      }
    } catch {
      // The client has left, and needs no refusal.
      this.#end();
    }
  }

  async #read(into: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer> | null> {
    const reader = this.#reader;
    if (reader === null || this.#ended) return null;
    try {
      const { done, value } = await this.#deadline.within(async () => await this.#nextOf(reader, into));
      this.#readBytes += value?.byteLength ?? 0;
      // the declared length is all there is; the connection knows that as well
      if (done || this.#readBytes === this.declaredBytes) this.#end();
      if (this.#readBytes > this.#maxBytes) throw new GatewayError("request_too_large");
      return done ? null : value;
    } catch (error) {
      releaseStack(error);
      if (error instanceof GatewayError && error.code === "request_too_large") throw error;
      this.#end();
      throw error instanceof GatewayError ? error : new ClientGone("the request body broke off", { cause: error });
    }
  }

  /** One read after the other: the runtime refuses one beside another, and an upstream that answers early may leave one under way. */
  async #nextOf(
    reader: ReadableStreamBYOBReader,
    into: Uint8Array<ArrayBuffer>,
  ): Promise<ReadableStreamReadResult<Uint8Array<ArrayBuffer>>> {
    const reading = this.#reading.then(async () => await reader.read(into));
    this.#reading = reading.catch(() => undefined);
    return await reading;
  }

  #end(): void {
    this.#ended = true;
    this.#spare = null;
    this.#deadline.end();
  }
}
