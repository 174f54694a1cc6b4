/**
 * A file that stays the same while the process runs. It is written and compressed once, because anybody may ask for it again and
 * again without a token.
 */
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";

const GZIP = /(^|[ ,])gzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/;

export class FixedFile {
  readonly #type: string;
  readonly #plain: Uint8Array<ArrayBuffer>;
  readonly #gzip: Uint8Array<ArrayBuffer>;
  readonly #etag: string;

  constructor(type: string, content: string | Uint8Array) {
    this.#type = type;
    this.#plain = new Uint8Array(Buffer.from(content));
    this.#gzip = new Uint8Array(gzipSync(this.#plain, { level: 9 }));
    this.#etag = `W/"${createHash("sha256").update(this.#plain).digest("base64url").slice(0, 22)}"`;
  }

  /** The answer to a request for it; 304 for who has it. */
  answer({ headers: asked }: Request, more: Readonly<Record<string, string>> = {}): Response {
    const headers = { ...more, etag: this.#etag, vary: "accept-encoding" };
    if (asked.get("if-none-match")?.includes(this.#etag) === true) return new Response(null, { status: 304, headers });
    const isGzip = GZIP.test(asked.get("accept-encoding") ?? "");
    return new Response(isGzip ? this.#gzip : this.#plain, {
      headers: { ...headers, "content-type": this.#type, ...(isGzip ? { "content-encoding": "gzip" } : {}) },
    });
  }
}
