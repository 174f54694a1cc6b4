/** A body that came in a coding, as its reader gets it: within the size limit, which counts the decoded bytes. */
import { GatewayError } from "../../../shared/errors.ts";
import { READ_CODINGS } from "../../domain/wire/content-coding.ts";
import type { BodySource } from "./body-source.ts";

/** A body that is read in order. */
export type PulledBody = Pick<BodySource, "declaredBytes" | "ended" | "readBytes" | "next" | "discard">;

/** 415: a body in another coding, or not in the one that it names. */
export function unreadableCoding(cause?: unknown): GatewayError {
  return new GatewayError("unsupported_encoding", { headers: { "accept-encoding": READ_CODINGS }, cause });
}

export class DecodedSource implements PulledBody {
  readonly declaredBytes = null;
  readonly #chunks: AsyncIterator<Uint8Array<ArrayBuffer>>;
  readonly #maxBytes: number;
  #readBytes = 0;
  #ended = false;

  constructor(chunks: AsyncIterable<Uint8Array<ArrayBuffer>>, maxBytes: number) {
    this.#chunks = chunks[Symbol.asyncIterator]();
    this.#maxBytes = maxBytes;
  }

  get ended(): boolean {
    return this.#ended;
  }

  get readBytes(): number {
    return this.#readBytes;
  }

  /** The next bytes, null at the end. Throws 413 `request_too_large` or 415 `unsupported_encoding`. */
  async next(): Promise<Uint8Array<ArrayBuffer> | null> {
    if (this.#ended) return null;
    const { done, value } = await this.#chunks.next().catch((error: unknown) => {
      this.#ended = true;
      throw unreadableCoding(error);
    });
    if (done === true) {
      this.#ended = true;
      return null;
    }
    this.#readBytes += value.byteLength;
    if (this.#readBytes <= this.#maxBytes) return value;
    await this.discard();
    throw new GatewayError("request_too_large");
  }

  /** Ends the decoding: the client has sent everything. */
  async discard(): Promise<void> {
    this.#ended = true;
    await this.#chunks.return?.();
  }
}
