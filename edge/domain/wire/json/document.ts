/**
 * Reads a client's JSON body once. A large one is read without the tails of its long strings (base64 images), which are
 * checked in place and counted, because a document of strings beside its bytes would fill an isolate
 * (docs/rules/request-bodies.md#large-json). Read texts of a document through {@link JsonDocument}: a string that was cut
 * contains a mark.
 */
import type { Steps } from "../../../../shared/steps.ts";
import { joined } from "../bytes/byte-pieces.ts";
import { countCodePoints } from "../text/code-points.ts";
import { type CutJson, cutLongStrings, uncut } from "./cut-strings.ts";
import { parseInSteps } from "./parse-in-steps.ts";

export { countCodePoints };

/** A document up to this size is read unchanged. */
export const PARSE_WHOLE_MAX_BYTES = 256 * 1024;

export type JsonObject = Readonly<Record<string, unknown>>;

/** The value when it is an object of JSON (no list, not null); else null. */
export function jsonObjectOf(value: unknown): JsonObject | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
}

export interface JsonDocument {
  readonly root: JsonObject;
  /** Code points of a string of this document as the client sent it. */
  codePoints(text: string): number;
  /** A string of this document as the client sent it, or its first 64 KiB. */
  text(value: string): string;
}

/**
 * The document of a body in pieces, as {@link readCut} takes it; null when it is found not to be valid JSON. `secret` marks
 * the strings that are cut: text that the client cannot know, so that its own strings cannot pass for cut ones of another
 * length.
 */
export function* cutJson<B extends ArrayBufferLike>(
  pieces: readonly Uint8Array<B>[],
  secret: string,
  parseWholeMaxBytes = PARSE_WHOLE_MAX_BYTES,
): Steps<CutJson<B | ArrayBuffer> | null> {
  const bytes = pieces.reduce((sum, { byteLength }) => sum + byteLength, 0);
  return bytes > parseWholeMaxBytes ? yield* cutLongStrings(pieces, `${secret}:`) : uncut(joined(pieces));
}

/** The document that {@link cutJson} has cut with the same secret, or null when it is not a JSON object. */
export function* readCut({ bytes, lengths }: CutJson, secret: string): Steps<JsonDocument | null> {
  const root = yield* parseObject(bytes);
  if (root === null || lengths.length === 0) return root === null ? null : wholeDocument(root);
  const mark = `${secret}:`;
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

/** True for a JSON object. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function* parseObject(bytes: Uint8Array): Steps<JsonObject | null> {
  try {
    return jsonObjectOf(yield* parseInSteps(bytes));
  } catch {
    return null;
  }
}
