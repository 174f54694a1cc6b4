/** Reads a multipart form piece by piece, so that a large file is never held whole. */
import { GatewayError } from "../../../shared/errors.ts";

const HEAD_MAX_BYTES = 16 * 1024;

interface FormPart {
  readonly name: string;
  /** Null: a field. */
  readonly filename: string | null;
  /** Read it before the next part: what is left unread is discarded. */
  readonly body: AsyncGenerator<Buffer>;
}

/** The parts of a form in their order. Throws 400 `invalid_multipart`. */
export async function* formParts(contentType: string, body: AsyncIterator<Uint8Array>): AsyncGenerator<FormPart> {
  const boundary = /^multipart\/form-data\s*;(?:.*;)?\s*boundary=(?:"([^"]{1,70})"|([^\s;]{1,70}))/i.exec(contentType);
  if (boundary === null) throw new GatewayError("invalid_multipart");
  const mark = Buffer.from(`\r\n--${boundary[1] ?? boundary[2] ?? ""}`);
  const bytes = new MarkedBytes(body);
  await drain(bytes.until(mark));
  while ((await bytes.take(2)).toString("latin1") !== "--") {
    const head = await headOf(bytes);
    const disposition = /^content-disposition:[ \t]*form-data(.*)$/im.exec(head)?.[1] ?? "";
    const part = bytes.until(mark);
    yield { name: parameter(disposition, "name") ?? "", filename: parameter(disposition, "filename"), body: part };
    await drain(part);
  }
}

async function headOf(bytes: MarkedBytes): Promise<string> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of bytes.until(Buffer.from("\r\n\r\n"))) {
    length += piece.length;
    if (length > HEAD_MAX_BYTES) throw new GatewayError("invalid_multipart");
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString("utf8");
}

function parameter(disposition: string, name: string): string | null {
  const [, quoted] = new RegExp(`;\\s*${name}="((?:[^"\\\\]|\\\\.)*)"`, "i").exec(disposition) ?? [];
  if (quoted !== undefined) return quoted.replace(/\\(.)/g, "$1");
  return new RegExp(`;\\s*${name}=([^\\s;"]+)`, "i").exec(disposition)?.[1] ?? null;
}

async function drain(pieces: AsyncIterable<Buffer>): Promise<void> {
  for await (const _ of pieces);
}

/** Bytes that are read up to marks. */
class MarkedBytes {
  // the first mark begins with a line break, and a form need not
  #held: Buffer = Buffer.from("\r\n");
  readonly #rest: AsyncIterator<Uint8Array>;

  constructor(rest: AsyncIterator<Uint8Array>) {
    this.#rest = rest;
  }

  /** What comes before the mark; the mark is passed over. */
  async *until(mark: Buffer): AsyncGenerator<Buffer> {
    for (;;) {
      const at = this.#held.indexOf(mark);
      const before = at === -1 ? this.#held.length - mark.length + 1 : at;
      const piece = this.#held.subarray(0, Math.max(0, before));
      this.#held = this.#held.subarray(piece.length + (at === -1 ? 0 : mark.length));
      if (piece.length > 0) yield piece;
      if (at !== -1) return;
      await this.#more();
    }
  }

  async take(count: number): Promise<Buffer> {
    while (this.#held.length < count) await this.#more();
    const taken = this.#held.subarray(0, count);
    this.#held = this.#held.subarray(count);
    return taken;
  }

  async #more(): Promise<void> {
    const { done, value } = await this.#rest.next();
    if (done === true) throw new GatewayError("invalid_multipart");
    this.#held = this.#held.length === 0 ? Buffer.from(value) : Buffer.concat([this.#held, value]);
  }
}
