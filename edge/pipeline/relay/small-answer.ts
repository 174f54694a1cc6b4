/**
 * Small answers that say their size: read at once when all of it is there, and handed on in one piece; a stream of their own
 * would cost more than the rest of the request. What comes in several pieces is given back to the pump, piece and all, so
 * that nothing is held back. Event streams and everything whose size is not known never come here.
 */
import { type BodyReader, PlainBodyReader } from "./body-reader.ts";

const WHOLE_MAX_BYTES = 64 * 1024;

/** The size of an answer that {@link readSmallAnswer} is for, by its headers, in bytes; null for every other. */
export function smallAnswerBytes(headers: Headers): number | null {
  const declared = Number(headers.get("content-length") ?? Number.NaN);
  return declared > 0 && declared <= WHOLE_MAX_BYTES && !headers.has("content-encoding") ? declared : null;
}

/** The body of so many bytes, or what the pump goes on with. Never rejects. */
export async function readSmallAnswer(
  body: ReadableStream<Uint8Array>,
  size: number,
): Promise<Uint8Array<ArrayBuffer> | BodyReader> {
  const intake = new PlainBodyReader(body, size);
  // a body that has broken off breaks off for the pump as well
  const first = await intake.next().catch(() => null);
  return first?.byteLength === size ? first : new PrependedReader(first, intake);
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
