/**
 * A request body as it arrives, within the cap (decisions §17.2): a declared length above it is refused unread, an
 * undeclared one as soon as it passes. Back-pressured: nothing is read ahead of its asker.
 */
import { GatewayError } from "../../shared/errors.ts";
import { ClientGone } from "./context.ts";

const CHUNK_BYTES = 64 * 1024;

export class BodySource {
  /** The content-length, null when the client declares none. */
  readonly declaredBytes: number | null;
  readonly #reader: ReadableStreamBYOBReader | null;
  readonly #maxBytes: number;
  #readBytes = 0;
  #ended = false;

  /** Throws 413 `request_too_large`. */
  constructor(request: Request, maxBytes: number) {
    const length = request.headers.get("content-length");
    this.declaredBytes = length === null ? null : Number(length);
    if (this.declaredBytes !== null && this.declaredBytes > maxBytes) throw new GatewayError("request_too_large");
    this.#maxBytes = maxBytes;
    this.#reader = request.body?.getReader({ mode: "byob" }) ?? null;
    this.#ended = this.#reader === null;
  }

  /** Everything has been read. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Bytes read so far. */
  get readBytes(): number {
    return this.#readBytes;
  }

  /** The next bytes, null at the end. Throws 413 `request_too_large`, or ClientGone when the client stops sending. */
  async next(): Promise<Uint8Array<ArrayBuffer> | null> {
    if (this.#reader === null || this.#ended) return null;
    const { done, value } = await this.#reader.read(new Uint8Array(CHUNK_BYTES)).catch((cause: unknown) => {
      throw new ClientGone("the request body broke off", { cause });
    });
    if (done) {
      this.#ended = true;
      return null;
    }
    this.#readBytes += value.byteLength;
    if (this.#readBytes > this.#maxBytes) throw new GatewayError("request_too_large");
    // what keeps a small chunk would keep its whole buffer
    return value.byteLength < CHUNK_BYTES / 2 ? value.slice() : value;
  }

  /**
   * Reads a bounded rest and throws it away: a client that is still writing would see its connection reset before it
   * could read its refusal. Never rejects.
   */
  async discard(): Promise<void> {
    if (this.#reader === null || this.#ended) return;
    try {
      for (let size = 0; size <= 2 * this.#maxBytes; ) {
        const { done, value } = await this.#reader.read(new Uint8Array(CHUNK_BYTES));
        if (done) return;
        size += value.byteLength;
      }
      await this.#reader.cancel();
    } catch {
      // The client has gone; nobody is left to be refused.
    } finally {
      this.#ended = true;
    }
  }
}
