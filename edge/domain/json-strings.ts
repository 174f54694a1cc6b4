/**
 * Where the strings of a JSON document end. A long one (a base64 image) is read once, by what the engine does natively, and
 * remembered: whoever comes to it again passes over it. Offsets are byte offsets; `end` is exclusive.
 */
import { BACKSLASH, QUOTE } from "./ascii.ts";
import { countCodePoints } from "./code-points.ts";

/** A string of so many bytes between its quotes is long, and is read in pieces of so many. */
export const LONG_STRING_BYTES = 64 * 1024;
/** So much of a string is passed over byte by byte: a search costs more to begin. */
const NEAR_BYTES = 128;
const LETTER_D = 0x64;
const LETTER_U = 0x75;
const CODE_ESCAPE_BYTES = 6;
const UTF8_MAX_BYTES = 4;

/** Refuses what is not UTF-8, and takes a byte order mark for the character that it is within a text. */
const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A long string that JSON allows. */
export interface LongString {
  /** Of its opening quote. */
  readonly start: number;
  readonly end: number;
  /** Where its first {@link LONG_STRING_BYTES} end, no character and no escape cut in two. */
  readonly keptEnd: number;
  /** In code points. */
  readonly length: number;
}

/** The strings of one document. */
export class LongStrings {
  readonly #bytes: Uint8Array;
  readonly #longBytes: number;
  readonly #found = new Map<number, LongString>();
  /** Every string before it has been asked for. */
  #readTo = 0;

  /** `longBytes` is 16 at least. */
  constructor(bytes: Uint8Array, longBytes = LONG_STRING_BYTES) {
    this.#bytes = bytes;
    this.#longBytes = longBytes;
  }

  /**
   * One past the closing quote of the string that opens at `start`. Null when it never closes, and when it is a long one that
   * JSON does not allow, or that bytes follow which are not UTF-8. Short ones are not judged.
   */
  endOf(start: number): number | null {
    const end =
      this.#found.get(start)?.end ??
      stringEnd(this.#bytes, start, start + 1 + this.#longBytes) ??
      this.#readLong(start);
    if (end !== null && start >= this.#readTo) this.#readTo = end;
    return end;
  }

  /** The long ones in order; null when {@link endOf} is null for one of the document. It is asked for in order or not at all. */
  all(): readonly LongString[] | null {
    for (let at = this.#next(); at !== -1; at = this.#next()) if (this.endOf(at) === null) return null;
    return [...this.#found.values()];
  }

  #next(): number {
    return this.#bytes.indexOf(QUOTE, this.#readTo);
  }

  #readLong(start: number): number | null {
    const bytes = this.#bytes;
    let at = start + 1;
    let length = 0;
    let keptEnd = -1;
    while (at < bytes.byteLength) {
      const piece = readPiece(bytes, at, wholeUntil(bytes, at, at + this.#longBytes));
      if (piece === null) return null;
      at = piece.end;
      length += piece.length;
      if (keptEnd === -1) keptEnd = at;
      if (!piece.closed) continue;
      this.#found.set(start, { start, end: at + 1, keptEnd, length });
      return at + 1;
    }
    return null;
  }
}

/** One past the closing quote of the string that opens at `start`, or null when it does not close before `to`. */
export function stringEnd(bytes: Uint8Array, start: number, to = bytes.byteLength): number | null {
  let reach: Uint8Array | null = null;
  let at = start + 1;
  while (at < to) {
    const far = Math.min(at + NEAR_BYTES, to, bytes.byteLength);
    while (at < far) {
      const byte = bytes[at];
      if (byte === QUOTE) return at + 1;
      at += byte === BACKSLASH ? 2 : 1;
    }
    reach ??= to < bytes.byteLength ? bytes.subarray(0, to) : bytes;
    const quote = reach.indexOf(QUOTE, at);
    if (quote === -1) return null;
    if (backslashesBefore(bytes, quote, at) % 2 === 0) return quote + 1;
    at = quote + 1;
  }
  return null;
}

interface Piece {
  /** Of what belongs to the string. */
  readonly end: number;
  /** A quote that closes the string stands there. */
  readonly closed: boolean;
  /** In code points. */
  readonly length: number;
}

/** A piece of a string from one whole character to another; null when JSON allows none such. */
function readPiece(bytes: Uint8Array, from: number, to: number): Piece | null {
  try {
    const text = strict.decode(bytes.subarray(from, to));
    const quote = text.indexOf('"');
    const backslash = text.indexOf("\\");
    if (backslash !== -1 && (quote === -1 || backslash < quote)) return readEscapedPiece(bytes, from, to);
    const plain = quote === -1 ? text : text.slice(0, quote);
    // JSON writes it as it stands: it holds no control characters
    if (JSON.stringify(plain).length !== plain.length + 2) return null;
    // as many units as bytes: all of it is ASCII
    if (text.length === to - from) return { end: from + plain.length, closed: quote !== -1, length: plain.length };
    const end = quote === -1 ? to : bytes.indexOf(QUOTE, from);
    return { end, closed: quote !== -1, length: countCodePoints(plain) };
  } catch {
    return null;
  }
}

/** The same of one with escapes. Throws when JSON allows none such. */
function readEscapedPiece(bytes: Uint8Array, from: number, to: number): Piece {
  const past = stringEnd(bytes, from - 1, to);
  const end = past === null ? to : past - 1;
  const text: unknown = JSON.parse(`"${strict.decode(bytes.subarray(from, end))}"`);
  return { end, closed: past !== null, length: countCodePoints(String(text)) };
}

/**
 * The last place up to `to` before which, in a string that goes on from `from`, no character is cut in two: neither its bytes,
 * nor an escape, nor two escapes that are halves of one.
 */
function wholeUntil(bytes: Uint8Array, from: number, to: number): number {
  if (to >= bytes.byteLength) return bytes.byteLength;
  let cut = to;
  while (cut > to - UTF8_MAX_BYTES && ((bytes[cut] ?? 0) & 0xc0) === 0x80) cut -= 1;
  for (let at = to - 1; at > to - CODE_ESCAPE_BYTES; at -= 1) {
    if (isEscape(bytes, at, from) && at + (bytes[at + 1] === LETTER_U ? CODE_ESCAPE_BYTES : 2) > to) cut = at;
  }
  const half = cut - CODE_ESCAPE_BYTES;
  return isEscape(bytes, half, from) && isHighHalf(bytes, half) ? half : cut;
}

function isEscape(bytes: Uint8Array, at: number, from: number): boolean {
  return bytes[at] === BACKSLASH && backslashesBefore(bytes, at, from) % 2 === 0;
}

/** The escape at `at` is the code of a first half of a pair. */
function isHighHalf(bytes: Uint8Array, at: number): boolean {
  const isSurrogate = bytes[at + 1] === LETTER_U && ((bytes[at + 2] ?? 0) | 0x20) === LETTER_D;
  return isSurrogate && /[89ab]/i.test(String.fromCharCode(bytes[at + 3] ?? 0));
}

/** How many backslashes stand right before `at`, none of them before `from`. */
function backslashesBefore(bytes: Uint8Array, at: number, from: number): number {
  let count = 0;
  while (at - 1 - count >= from && bytes[at - 1 - count] === BACKSLASH) count += 1;
  return count;
}
