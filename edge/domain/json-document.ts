/**
 * Reads a client's JSON body once. A large one is read without the tails of its long strings (base64 images), which are
 * checked in place and counted, because a document of strings beside its bytes would fill an isolate (design §3 law 7).
 * Whoever reads a text of a document asks {@link JsonDocument} for it: a cut string carries a mark.
 */
import { BACKSLASH, QUOTE } from "./ascii.ts";
import { concat, stringEnd } from "./json-bytes.ts";

/** A document up to this is parsed as it is. */
export const PARSE_WHOLE_MAX_BYTES = 256 * 1024;
/** A string longer than this is cut to it when the document is above the limit. */
const KEPT_STRING_BYTES = 64 * 1024;

const LETTER_U = 0x75;
const HIGH_SURROGATE = /[\ud800-\udbff]/;

export type JsonObject = Readonly<Record<string, unknown>>;

export interface JsonDocument {
  readonly root: JsonObject;
  /** Code points of a string of this document as the client sent it. */
  codePoints(text: string): number;
  /** A string of this document as the client sent it, or its first 64 KiB. */
  text(value: string): string;
}

/**
 * The document, or null when the bytes are not a JSON object. `secret` marks the strings that are cut: text that the client
 * cannot know, or its own strings could pass for cut ones of another length.
 */
export function readJson(
  bytes: Uint8Array,
  secret: string,
  parseWholeMaxBytes = PARSE_WHOLE_MAX_BYTES,
): JsonDocument | null {
  if (bytes.byteLength <= parseWholeMaxBytes) {
    const root = parseObject(bytes);
    return root === null ? null : wholeDocument(root);
  }
  const lengths: number[] = [];
  const mark = `${secret}:`;
  const cut = cutLongStrings(bytes, mark, lengths);
  const root = cut === null ? null : parseObject(cut);
  if (root === null) return null;
  const lengthOf = (text: string): number | undefined =>
    text.startsWith(mark) ? lengths[Number(text.slice(mark.length, text.indexOf(";")))] : undefined;
  return {
    root,
    codePoints: (text) => lengthOf(text) ?? countCodePoints(text),
    text: (value) => (lengthOf(value) === undefined ? value : value.slice(value.indexOf(";") + 1)),
  };
}

/** A document that holds every string whole. */
export function wholeDocument(root: JsonObject): JsonDocument {
  return { root, codePoints: countCodePoints, text: (value) => value };
}

/** Code points of a text. */
export function countCodePoints(text: string): number {
  // Most texts have none of the characters that are two units: the engine knows without a look at each.
  const first = text.search(HIGH_SURROGATE);
  if (first === -1) return text.length;
  let count = first;
  for (let at = first; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit >= 0xd800 && unit <= 0xdbff && at + 1 < text.length) {
      const next = text.charCodeAt(at + 1);
      if (next >= 0xdc00 && next <= 0xdfff) at += 1;
    }
    count += 1;
  }
  return count;
}

/** Refuses what is not UTF-8, and a byte order mark with it. */
const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function parseObject(bytes: Uint8Array): JsonObject | null {
  try {
    const value: unknown = JSON.parse(strict.decode(bytes));
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
  } catch {
    return null;
  }
}

/**
 * Copies the document without the tails of its long strings, each with the mark and its number in front; their lengths in
 * code points go to `lengths`. Null when a string that was cut is none that JSON allows.
 */
function cutLongStrings(bytes: Uint8Array, mark: string, lengths: number[]): Uint8Array | null {
  const pieces: Uint8Array[] = [];
  const encoder = new TextEncoder();
  let copied = 0;
  for (let at = bytes.indexOf(QUOTE); at !== -1; ) {
    const end = stringEnd(bytes, at);
    if (end === null) break;
    if (end - at > KEPT_STRING_BYTES) {
      const kept = walk(bytes, at + 1, Math.min(at + 1 + KEPT_STRING_BYTES, end - 1));
      const rest = kept === null ? null : walk(bytes, kept.end, end - 1);
      if (kept === null || rest === null || rest.end !== end - 1) return null;
      if (!(kept.ascii && rest.ascii) && !isUtf8(bytes.subarray(at, end))) return null;
      pieces.push(
        bytes.subarray(copied, at + 1),
        encoder.encode(`${mark}${lengths.length};`),
        bytes.subarray(at + 1, kept.end),
      );
      lengths.push(kept.points + rest.points);
      copied = end - 1;
    }
    at = bytes.indexOf(QUOTE, end);
  }
  pieces.push(bytes.subarray(copied));
  return concat(pieces);
}

interface Measured {
  readonly points: number;
  /** Where the walk ended: one past the last whole character before its bound. */
  readonly end: number;
  readonly ascii: boolean;
}

/** Walks over the characters and escapes of an encoded string up to `bound`; null when JSON has none such. */
function walk(bytes: Uint8Array, start: number, bound: number): Measured | null {
  let points = 0;
  let ascii = true;
  let at = start;
  while (at < bound) {
    const byte = bytes[at] ?? 0;
    let size = 1;
    // Plain letters and digits are most of what is long: they get no call.
    if (byte < 0x20 || byte > 0x7f || byte === BACKSLASH) {
      const unit = unitSize(bytes, at);
      if (unit === null) return null;
      if (at + unit > bound) break;
      size = unit;
      ascii &&= byte < 0x80;
    }
    at += size;
    points += 1;
  }
  return { points, end: at, ascii };
}

function isUtf8(bytes: Uint8Array): boolean {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });
  try {
    for (let at = 0; at < bytes.byteLength; at += KEPT_STRING_BYTES)
      decoder.decode(bytes.subarray(at, at + KEPT_STRING_BYTES), { stream: true });
    decoder.decode();
    return true;
  } catch {
    return false;
  }
}

/** Bytes of the character or escape at `at`, null when JSON has none such; a surrogate pair of escapes is one character. */
function unitSize(bytes: Uint8Array, at: number): number | null {
  const byte = bytes[at] ?? 0;
  if (byte === BACKSLASH) return escapeSize(bytes, at);
  if (byte < 0x80) return byte < 0x20 ? null : 1;
  return byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

function escapeSize(bytes: Uint8Array, at: number): number | null {
  if (bytes[at + 1] !== LETTER_U) return '"\\/bfnrt'.includes(String.fromCharCode(bytes[at + 1] ?? 0)) ? 2 : null;
  for (let digit = at + 2; digit < at + 6; digit += 1) {
    if (!/[0-9a-f]/i.test(String.fromCharCode(bytes[digit] ?? 0))) return null;
  }
  const pair = isEscapedSurrogate(bytes, at, /[89ab]/i) && isEscapedSurrogate(bytes, at + 6, /[c-f]/i);
  return pair ? 12 : 6;
}

/** True for an escape `\uD?xx` whose second digit says which half of a pair it is. */
function isEscapedSurrogate(bytes: Uint8Array, at: number, half: RegExp): boolean {
  const isUnicodeEscape = bytes[at] === BACKSLASH && bytes[at + 1] === LETTER_U;
  const isSurrogate = bytes[at + 2] === 0x64 || bytes[at + 2] === 0x44;
  return isUnicodeEscape && isSurrogate && half.test(String.fromCharCode(bytes[at + 3] ?? 0));
}
