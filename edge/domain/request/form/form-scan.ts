/**
 * Cuts a multipart/form-data body (RFC 7578, RFC 2046 section 5.1) into its pieces while it arrives, split anywhere,
 * without changing a byte: the pieces in order are the body. Libraries that read forms keep a part until it is complete or
 * make a new body of it; here a file of any size passes through and little is held.
 * // Parsers differ in what they accept as a delimiter: some need no CR LF before it, or no line end at all, some continue
 * after the closing one. So two dashes and the boundary may occur only in a delimiter that every parser recognises.
 */
import { CR, LF } from "../../../../shared/wire/ascii.ts";
import { BytePattern } from "../../wire/bytes/byte-pattern.ts";
import { concat } from "../../wire/bytes/byte-pieces.ts";
import { type FormPart, partOf } from "./form-head.ts";

export type FormPiece =
  /** Delimiters and headers. */
  | { readonly kind: "frame"; readonly bytes: Uint8Array }
  /** Some of a part's content. */
  | { readonly kind: "data"; readonly part: FormPart; readonly bytes: Uint8Array }
  /** The content of a part is complete. */
  | { readonly kind: "end"; readonly part: FormPart };

const HEADERS_MAX_BYTES = 16 * 1024;
/** Servers that read forms accept as many. Each part is held and checked, however small it is. */
const PARTS_MAX = 1000;
const DASH = 0x2d;
const BLANK = new Set([CR, LF, 0x20, 0x09]);

/** How a line that starts with the delimiter continues; clients write no other form, and parsers disagree on others. */
type Line =
  | { readonly kind: "part" | "close"; readonly end: number }
  | { readonly kind: "cut" }
  | { readonly kind: "other" };

export class FormScan {
  /** Two dashes and the boundary. */
  readonly #dashed: BytePattern;
  /** The same after CR LF. */
  readonly #delimiter: Uint8Array;
  #state: "start" | "headers" | "data" | "over" = "start";
  #part: FormPart | null = null;
  #parts = 0;
  #held = new Uint8Array(0) as Uint8Array;

  constructor(boundary: string) {
    this.#delimiter = new TextEncoder().encode(`\r\n--${boundary}`);
    this.#dashed = new BytePattern(this.#delimiter.subarray(2));
  }

  /** The closing delimiter has been read: the form is whole. */
  get complete(): boolean {
    return this.#state === "over";
  }

  /** The pieces that this chunk completes, in order; null if the body is not a form. Views of the chunk, where possible. */
  push(chunk: Uint8Array): readonly FormPiece[] | null {
    const bytes = this.#held.byteLength === 0 ? chunk : concat([this.#held, chunk]);
    this.#held = new Uint8Array(0);
    const pieces: FormPiece[] = [];
    let at = 0;
    for (;;) {
      const next = this.#step(bytes, at, pieces);
      if (next === null) return null;
      if (next === at || next === bytes.byteLength) {
        if (next < bytes.byteLength) this.#held = bytes.slice(next);
        return pieces;
      }
      at = next;
    }
  }

  /** Continues from `at`; returns where it stopped, which is `at` when more bytes are needed. Null: no form. */
  #step(bytes: Uint8Array, at: number, pieces: FormPiece[]): number | null {
    switch (this.#state) {
      case "start":
        return this.#start(bytes, at, pieces);
      case "headers":
        return this.#headers(bytes, at, pieces);
      case "data":
        return this.#data(bytes, at, pieces);
      case "over":
        return this.#over(bytes, at, pieces);
      default:
        return this.#state satisfies never;
    }
  }

  #start(bytes: Uint8Array, at: number, pieces: FormPiece[]): number | null {
    // The first delimiter needs no line end before it.
    const first = bytes[at] === CR ? this.#delimiter : this.#delimiter.subarray(2);
    const matched = matchAt(bytes, at, first);
    if (matched < first.byteLength) return at + matched === bytes.byteLength ? at : null;
    const line = this.#line(bytes, at + matched);
    if (line.kind === "cut") return at;
    if (line.kind === "other") return null;
    return this.#frame(bytes, at, line.end, line.kind, pieces);
  }

  #headers(bytes: Uint8Array, at: number, pieces: FormPiece[]): number | null {
    if (bytes[at] === CR && bytes[at + 1] === LF) return null;
    const end = endOfHeaders(bytes, at);
    if (end === null) return bytes.byteLength - at > HEADERS_MAX_BYTES ? null : at;
    const block = bytes.subarray(at, end);
    if (block.byteLength > HEADERS_MAX_BYTES || this.#standsIn(block)) return null;
    const part = partOf(new TextDecoder("utf-8", { fatal: false, ignoreBOM: true }).decode(block.subarray(0, -2)));
    this.#parts += 1;
    if (part === null || this.#parts > PARTS_MAX) return null;
    pieces.push({ kind: "frame", bytes: block });
    this.#part = part;
    this.#state = "data";
    return end;
  }

  #data(bytes: Uint8Array, at: number, pieces: FormPiece[]): number | null {
    const part = this.#part;
    if (part === null) return null;
    const content = (until: number): void => {
      if (until > at) pieces.push({ kind: "data", part, bytes: bytes.subarray(at, until) });
    };
    const dashed = this.#dashed.find(bytes, at);
    const lineEnd = Math.max(at, dashed - lineEndBefore(bytes, dashed));
    const after = dashed + this.#dashed.bytes.byteLength;
    const whole = after <= bytes.byteLength;
    if (whole && dashed - lineEnd !== 2) return null;
    const line: Line = whole ? this.#line(bytes, after) : { kind: "cut" };
    if (line.kind === "other") return null;
    content(lineEnd);
    if (line.kind === "cut") return lineEnd;
    pieces.push({ kind: "end", part });
    return this.#frame(bytes, lineEnd, line.end, line.kind, pieces);
  }

  /** After the closing delimiter only line ends are allowed. */
  #over(bytes: Uint8Array, at: number, pieces: FormPiece[]): number | null {
    const rest = bytes.subarray(at);
    if (!rest.every((byte) => BLANK.has(byte))) return null;
    pieces.push({ kind: "frame", bytes: rest });
    return bytes.byteLength;
  }

  #standsIn(bytes: Uint8Array): boolean {
    return this.#dashed.find(bytes, 0) + this.#dashed.bytes.byteLength <= bytes.byteLength;
  }

  #frame(bytes: Uint8Array, at: number, end: number, kind: "part" | "close", pieces: FormPiece[]): number {
    pieces.push({ kind: "frame", bytes: bytes.subarray(at, end) });
    this.#part = null;
    this.#state = kind === "part" ? "headers" : "over";
    return end;
  }

  #line(bytes: Uint8Array, start: number): Line {
    if (start + 2 > bytes.byteLength) return { kind: "cut" };
    if (bytes[start] === DASH && bytes[start + 1] === DASH) return { kind: "close", end: start + 2 };
    return bytes[start] === CR && bytes[start + 1] === LF ? { kind: "part", end: start + 2 } : { kind: "other" };
  }
}

/** The number of bytes of CR LF before `at`: 2, or 1 when the bytes end there after a CR, which an LF may follow. */
function lineEndBefore(bytes: Uint8Array, at: number): 0 | 1 | 2 {
  if (bytes[at - 1] === LF && bytes[at - 2] === CR) return 2;
  return bytes[at - 1] === CR && at === bytes.byteLength ? 1 : 0;
}

/** The number of bytes of `pattern` at `at`. */
function matchAt(bytes: Uint8Array, at: number, pattern: Uint8Array): number {
  let matched = 0;
  while (matched < pattern.byteLength && bytes[at + matched] === pattern[matched]) matched += 1;
  return matched;
}

/** One past the empty line that ends a block of headers; null when it has not arrived yet. */
function endOfHeaders(bytes: Uint8Array, start: number): number | null {
  for (let at = bytes.indexOf(CR, start); at !== -1; at = bytes.indexOf(CR, at + 1)) {
    if (bytes[at + 1] === LF && bytes[at + 2] === CR && bytes[at + 3] === LF) return at + 4;
  }
  return null;
}
