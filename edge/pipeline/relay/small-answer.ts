/**
 * Small answers that declare their size: read at once when all of the body is there, and sent in one piece; a stream of
 * its own would cost more than the rest of the request. A body that comes in several pieces is given to the pump, the
 * first piece included, so that nothing is held back. Event streams and answers of unknown size are never handled here.
 */
import { type BodyReader, PlainBodyReader } from "./body-reader.ts";

const WHOLE_MAX_BYTES = 64 * 1024;

/**
 * The size of an answer that {@link readSmallAnswer} may read, by its headers, in bytes; null for every other answer.
 */
export function smallAnswerBytes(headers: Headers): number | null {
  const declared = Number(headers.get("content-length") ?? Number.NaN);
  return declared > 0 && declared <= WHOLE_MAX_BYTES && !headers.has("content-encoding") ? declared : null;
}

/** The whole body, or the reader with which the pump goes on. Never rejects. */
export async function readSmallAnswer(
  body: ReadableStream<Uint8Array>,
  size: number,
): Promise<Uint8Array<ArrayBuffer> | BodyReader> {
  const reader = new PlainBodyReader(body, size);
  // a body that has broken off breaks off for the pump as well
  const first = await reader.next().catch(() => null);
  return first?.byteLength === size ? first : new PrependedReader(first, reader);
}

class PrependedReader implements BodyReader {
  readonly ended = false;
  #first: Uint8Array<ArrayBuffer> | null;
  readonly #rest: BodyReader;

  constructor(first: Uint8Array<ArrayBuffer> | null, rest: BodyReader) {
    this.#first = first;
    this.#rest = rest;
  }

  async next(): Promise<Uint8Array<ArrayBuffer> | null> {
    const first = this.#first;
    this.#first = null;
    return first ?? (await this.#rest.next());
  }

  async cancel(): Promise<void> {
    await this.#rest.cancel();
  }
}
