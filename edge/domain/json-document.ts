/**
 * Reads a client's JSON body once. A large one is read without the tails of its long strings (base64 images), which are
 * checked in place and counted, because a document of strings beside its bytes would fill an isolate (design §3 law 7).
 * Whoever reads a text of a document asks {@link JsonDocument} for it: a cut string carries a mark.
 */
import { countCodePoints } from "./code-points.ts";
import { concat } from "./json-bytes.ts";
import { type LongString, LongStrings } from "./json-strings.ts";

export { countCodePoints };

/** A document up to this is parsed as it is. */
export const PARSE_WHOLE_MAX_BYTES = 256 * 1024;

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
 * cannot know, or its own strings could pass for cut ones of another length. `strings` are those of `bytes`.
 */
export function readJson(
  bytes: Uint8Array,
  secret: string,
  parseWholeMaxBytes = PARSE_WHOLE_MAX_BYTES,
  strings = new LongStrings(bytes),
): JsonDocument | null {
  if (bytes.byteLength <= parseWholeMaxBytes) {
    const root = parseObject(bytes);
    return root === null ? null : wholeDocument(root);
  }
  const mark = `${secret}:`;
  const long = strings.all();
  const root = long === null ? null : parseObject(cutLongStrings(bytes, mark, long));
  if (long === null || root === null) return null;
  const lengthOf = (text: string): number | undefined =>
    text.startsWith(mark) ? long[Number(text.slice(mark.length, text.indexOf(";")))]?.length : undefined;
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
 * Copies the document without the tails of its long strings, each with the mark and its number in front.
 */
function cutLongStrings(bytes: Uint8Array, mark: string, strings: readonly LongString[]): Uint8Array {
  if (strings.length === 0) return bytes;
  const pieces: Uint8Array[] = [];
  const encoder = new TextEncoder();
  let copied = 0;
  for (const [number, { start, keptEnd, end }] of strings.entries()) {
    const first = start + 1;
    pieces.push(bytes.subarray(copied, first), encoder.encode(`${mark}${number};`), bytes.subarray(first, keptEnd));
    copied = end - 1;
  }
  pieces.push(bytes.subarray(copied));
  return concat(pieces);
}
