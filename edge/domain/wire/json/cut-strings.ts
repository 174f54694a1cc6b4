/**
 * A JSON document without the tails of its long strings (base64 images), which are checked and counted in place: a document of
 * strings beside its bytes would fill an isolate (docs/rules/request-bodies.md#large-json). Long strings are read once, by
 * native functions of the engine. Offsets are byte offsets; `end` is exclusive.
 */
import type { Steps } from "../../../../shared/steps.ts";
import { BACKSLASH, QUOTE } from "../../../../shared/wire/ascii.ts";
import { backslashesBefore, stringEnd } from "../../../../shared/wire/json-skip.ts";
import type { TopLevel } from "../../../../shared/wire/json-top-level.ts";
import { BytePieces, joinedInSteps, type Span } from "../bytes/byte-pieces.ts";
import { countCodePoints } from "../text/code-points.ts";

/** A string of more bytes is cut to this many. */
const KEPT_STRING_BYTES = 64 * 1024;
const LETTER_D = 0x64;
const LETTER_U = 0x75;
const CODE_ESCAPE_BYTES = 6;
const UTF8_MAX_BYTES = 4;
/** Work for a short string, and for bytes, in units. */
const STRING_UNITS = 1;
const BYTES_PER_UNIT = 8;

const encoder = new TextEncoder();
/** Refuses invalid UTF-8, and reads a byte order mark as the character that it is within a text. */
const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
/** Characters that JSON allows in no string. For a range from 0 the engine checks many characters at once. */
const CONTROL = new RegExp(`[${String.fromCharCode(0)}-${String.fromCharCode(0x1f)}]`);

/** A string that was cut. */
interface Cut {
  /** In code points, whole. */
  readonly length: number;
  /** Offset of its closing quote: in the cut document, and in the client's. */
  readonly cutEnd: number;
  readonly end: number;
}

/** A document that may be cut. */
export interface CutJson<B extends ArrayBufferLike = ArrayBufferLike> {
  /** Bytes of the document; each cut string has a mark and its number in front. */
  readonly bytes: Uint8Array<B | ArrayBuffer>;
  /** Code points of each cut string, by its number. */
  readonly lengths: readonly number[];
  /** The offset in the client's document of the byte at `at` of `bytes`, outside strings. */
  readonly placeOf: (at: number) => number;
}

/** The offsets in the client's document of a finding in the cut one. */
export function sentPlaces({ placeOf }: Pick<CutJson, "placeOf">, top: TopLevel): TopLevel {
  const sent = ({ start, end }: Span): Span => ({ start: placeOf(start), end: placeOf(end) });
  return {
    ...top,
    members: top.members.map((member) => ({
      ...member,
      value: sent(member.value),
      withComma: sent(member.withComma),
      toNext: sent(member.toNext),
    })),
    closeAt: placeOf(top.closeAt),
  };
}

/** A document that is not cut. */
export function uncut<B extends ArrayBufferLike>(bytes: Uint8Array<B>): CutJson<B> {
  return { bytes, lengths: [], placeOf: (at) => at };
}

/**
 * The cut document of these pieces. Null when a string of more than `keptBytes` (at least 16) is not valid JSON, or is
 * followed by bytes that are not UTF-8. Nothing else is checked. `mark` is text that the client cannot know.
 */
export function* cutLongStrings<B extends ArrayBufferLike>(
  pieces: readonly Uint8Array<B>[],
  mark: string,
  keptBytes = KEPT_STRING_BYTES,
): Steps<CutJson<B> | null> {
  const document = new BytePieces(pieces);
  const parts: Uint8Array<B | ArrayBuffer>[] = [];
  const cuts: Cut[] = [];
  let copied = 0;
  let removed = 0;
  for (;;) {
    const at = yield* nextLong(document, cuts.length === 0 ? 0 : copied + 1, keptBytes);
    if (at === null) break;
    const long = yield* readLong(document, at + 1, keptBytes);
    if (long === null) return null;
    const front = Uint8Array.from(encoder.encode(`${mark}${cuts.length};`));
    for (const part of document.parts(copied, at + 1)) parts.push(part);
    parts.push(front);
    for (const part of document.parts(at + 1, long.keptEnd)) parts.push(part);
    copied = long.end;
    removed += long.end - long.keptEnd - front.byteLength;
    cuts.push({ length: long.length, cutEnd: long.end - removed, end: long.end });
  }
  for (const part of document.parts(copied, document.byteLength)) parts.push(part);
  return {
    bytes: yield* joinedInSteps(parts),
    lengths: cuts.map(({ length }) => length),
    placeOf: (at) => {
      let [low, high] = [0, cuts.length];
      while (low < high) {
        const middle = (low + high) >>> 1;
        if ((cuts[middle]?.cutEnd ?? 0) <= at) low = middle + 1;
        else high = middle;
      }
      const cut = cuts[low - 1];
      return cut === undefined ? at : at - cut.cutEnd + cut.end;
    },
  };
}

/**
 * Where the next string opens that is long or never closes; null if there is none. `from` is the end of a string, or outside
 * every string.
 */
function* nextLong(document: BytePieces, from: number, keptBytes: number): Steps<number | null> {
  const windowBytes = keptBytes + 2;
  for (let at = from; at < document.byteLength; ) {
    const window = document.slice(at, at + windowBytes);
    let [next, strings] = [0, 0];
    let open = window.indexOf(QUOTE);
    while (open !== -1) {
      const end = stringEnd(window, open + 1);
      if (end < 0) break;
      next = end;
      strings += 1;
      open = window.indexOf(QUOTE, next);
    }
    if (open === 0) return at;
    at += open === -1 ? window.byteLength : open;
    yield window.byteLength / BYTES_PER_UNIT + strings * STRING_UNITS;
  }
  return null;
}

/**
 * Reads a string from after its opening quote; `end` is the offset of the closing one. Null when JSON does not allow it.
 */
function* readLong(document: BytePieces, from: number, keptBytes: number): Steps<LongString | null> {
  let at = from;
  let length = 0;
  let keptEnd = -1;
  while (at < document.byteLength) {
    // one byte more than is read, which shows whether a character continues
    const window = document.slice(at, at + keptBytes + 1);
    yield window.byteLength / BYTES_PER_UNIT;
    const piece = readPiece(window.subarray(0, wholeUntil(window, keptBytes)));
    if (piece === null) return null;
    at += piece.end;
    length += piece.length;
    if (keptEnd === -1) keptEnd = at;
    if (piece.closed) return { keptEnd, end: at, length };
  }
  return null;
}

interface LongString {
  readonly keptEnd: number;
  readonly end: number;
  /** In code points. */
  readonly length: number;
}

interface Piece {
  /** End of the part that belongs to the string. */
  readonly end: number;
  /** A quote that closes the string is there. */
  readonly closed: boolean;
  /** In code points. */
  readonly length: number;
}

/** A piece of a string, in whole characters; null when JSON does not allow it. */
function readPiece(bytes: Uint8Array): Piece | null {
  try {
    const text = strict.decode(bytes);
    const quote = text.indexOf('"');
    const backslash = text.indexOf("\\");
    if (backslash !== -1 && (quote === -1 || backslash < quote)) return readEscapedPiece(bytes);
    const plain = quote === -1 ? text : text.slice(0, quote);
    if (CONTROL.test(plain)) return null;
    // as many units as bytes: all of it is ASCII
    if (text.length === bytes.byteLength) return { end: plain.length, closed: quote !== -1, length: plain.length };
    const end = quote === -1 ? bytes.byteLength : bytes.indexOf(QUOTE);
    return { end, closed: quote !== -1, length: countCodePoints(plain) };
  } catch {
    return null;
  }
}

/** The same for a piece with escapes. Throws when JSON does not allow it. */
function readEscapedPiece(bytes: Uint8Array): Piece {
  const past = stringEnd(bytes, 0);
  const end = past < 0 ? bytes.byteLength : past - 1;
  const text: unknown = JSON.parse(`"${strict.decode(bytes.subarray(0, end))}"`);
  return { end, closed: past >= 0, length: countCodePoints(String(text)) };
}

/**
 * The last place up to `to`, within a string, that cuts no character in two: neither its bytes, nor an escape, nor two escapes
 * that are halves of one.
 */
export function wholeUntil(bytes: Uint8Array, to: number): number {
  if (to >= bytes.byteLength) return bytes.byteLength;
  let cut = to;
  while (cut > to - UTF8_MAX_BYTES && ((bytes[cut] ?? 0) & 0xc0) === 0x80) cut -= 1;
  for (let at = to - 1; at > to - CODE_ESCAPE_BYTES; at -= 1) {
    if (isEscape(bytes, at) && at + (bytes[at + 1] === LETTER_U ? CODE_ESCAPE_BYTES : 2) > to) cut = at;
  }
  const half = cut - CODE_ESCAPE_BYTES;
  return isEscape(bytes, half) && isHighHalf(bytes, half) ? half : cut;
}

function isEscape(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === BACKSLASH && backslashesBefore(bytes, at, 0) % 2 === 0;
}

/** The escape at `at` is the code of a first half of a pair. */
function isHighHalf(bytes: Uint8Array, at: number): boolean {
  const isSurrogate = bytes[at + 1] === LETTER_U && ((bytes[at + 2] ?? 0) | 0x20) === LETTER_D;
  return isSurrogate && /[89ab]/i.test(String.fromCharCode(bytes[at + 3] ?? 0));
}
