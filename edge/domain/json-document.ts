/**
 * Reads a client's JSON body once. Up to 4 MiB it is parsed as it is; above that every long string is cut before parsing
 * and its true length kept aside, because a parsed 32 MiB body alone would fill an isolate (design §3 law 7). Whoever
 * counts text asks {@link JsonDocument.codePoints}, never `.length`.
 */
import { stringEnd } from "./json-bytes.ts";

export const PARSE_WHOLE_MAX_BYTES = 4 * 1024 * 1024;
/** A string longer than this is cut to it when the document is above the limit. */
const KEPT_STRING_BYTES = 16 * 1024;
/** Starts a cut string: a private-use character that no text of a real request begins with. */
const MARK = "\uE000cut:";

export type JsonObject = Readonly<Record<string, unknown>>;

export interface JsonDocument {
  readonly root: JsonObject;
  /** Code points of a string of this document as the client sent it. */
  codePoints(text: string): number;
}

/** The document, or null when the bytes are not a JSON object. */
export function readJson(bytes: Uint8Array, parseWholeMaxBytes = PARSE_WHOLE_MAX_BYTES): JsonDocument | null {
  if (bytes.byteLength <= parseWholeMaxBytes) {
    const root = parseObject(bytes);
    return root === null ? null : { root, codePoints: countCodePoints };
  }
  const lengths: number[] = [];
  const root = parseObject(cutLongStrings(bytes, lengths));
  if (root === null) return null;
  return {
    root,
    codePoints: (text) => {
      if (!text.startsWith(MARK)) return countCodePoints(text);
      return lengths[Number(text.slice(MARK.length, text.indexOf(";")))] ?? countCodePoints(text);
    },
  };
}

/** Code points of a text. */
export function countCodePoints(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit >= 0xd800 && unit <= 0xdbff && at + 1 < text.length) {
      const next = text.charCodeAt(at + 1);
      if (next >= 0xdc00 && next <= 0xdfff) at += 1;
    }
    count += 1;
  }
  return count;
}

function parseObject(bytes: Uint8Array): JsonObject | null {
  try {
    const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes));
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
  } catch {
    return null;
  }
}

/** Copies the document without the tails of its long strings; their lengths in code points go to `lengths`. */
function cutLongStrings(bytes: Uint8Array, lengths: number[]): Uint8Array {
  const pieces: Uint8Array[] = [];
  const encoder = new TextEncoder();
  let copied = 0;
  for (let at = 0; at < bytes.byteLength; at += 1) {
    if (bytes[at] !== 0x22) continue;
    const end = stringEnd(bytes, at);
    if (end === null) break;
    if (end - at > KEPT_STRING_BYTES) {
      const { points, safeEnd } = measure(bytes, at + 1, end - 1);
      pieces.push(
        bytes.subarray(copied, at + 1),
        encoder.encode(`${MARK}${lengths.length};`),
        bytes.subarray(at + 1, safeEnd),
      );
      lengths.push(points);
      copied = end - 1;
    }
    at = end - 1;
  }
  pieces.push(bytes.subarray(copied));
  return concat(pieces);
}

/** Code points of an encoded string, and where it may be cut without splitting a character or an escape. */
function measure(bytes: Uint8Array, start: number, end: number): { points: number; safeEnd: number } {
  let points = 0;
  let safeEnd = start;
  for (let at = start; at < end; ) {
    const size = unitSize(bytes, at);
    if (at + size - start <= KEPT_STRING_BYTES) safeEnd = at + size;
    points += 1;
    at += size;
  }
  return { points, safeEnd };
}

/** Bytes of the character or escape at `at`; a surrogate pair of escapes is one character. */
function unitSize(bytes: Uint8Array, at: number): number {
  const byte = bytes[at] ?? 0;
  if (byte === 0x5c) {
    if (bytes[at + 1] !== 0x75) return 2;
    const pair = isEscapedSurrogate(bytes, at, /[89ab]/i) && isEscapedSurrogate(bytes, at + 6, /[c-f]/i);
    return pair ? 12 : 6;
  }
  if (byte < 0x80) return 1;
  return byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

/** True for an escape `\uD?xx` whose second digit says which half of a pair it is. */
function isEscapedSurrogate(bytes: Uint8Array, at: number, half: RegExp): boolean {
  const isUnicodeEscape = bytes[at] === 0x5c && bytes[at + 1] === 0x75;
  const isSurrogate = bytes[at + 2] === 0x64 || bytes[at + 2] === 0x44;
  return isUnicodeEscape && isSurrogate && half.test(String.fromCharCode(bytes[at + 3] ?? 0));
}

function concat(pieces: readonly Uint8Array[]): Uint8Array {
  const out = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.byteLength, 0));
  let at = 0;
  for (const piece of pieces) {
    out.set(piece, at);
    at += piece.byteLength;
  }
  return out;
}
