/** Counts the values of JSON text without parsing it, which would take many times the memory of its bytes. Pure. */
import { CLOSE_BRACE, CLOSE_BRACKET, COLON, COMMA, OPEN_BRACE, OPEN_BRACKET, QUOTE } from "../../shared/wire/ascii.ts";
import { stringEnd } from "../../shared/wire/json-skip.ts";

/** The most commas, objects and lists of a text, and the most names of one of its objects. */
export interface JsonPartsLimits {
  readonly parts: number;
  readonly names: number;
}

/** Whether there are more of these outside of strings. It does not check whether the text is valid. */
export function hasMoreParts(json: Uint8Array, max: JsonPartsLimits): boolean {
  if (json.byteLength <= max.names) return false;
  /** Of the objects and lists around the innermost one. */
  const outer: number[] = [];
  let names = 0;
  let parts = 0;
  for (let at = 0; at < json.byteLength; at += 1) {
    const byte = json[at];
    if (byte === QUOTE) {
      const end = stringEnd(json, at + 1);
      if (end < 0) return false;
      at = end - 1;
    } else if (byte === COMMA) {
      parts += 1;
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      parts += 1;
      outer.push(names);
      names = 0;
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      names = outer.pop() ?? 0;
    } else if (byte === COLON) {
      names += 1;
    } else continue;
    if (parts > max.parts || names > max.names) return true;
  }
  return false;
}

/** Bounds of an answer of another service: parsing one of more parts would keep the thread from all others. */
export const ANSWER_PARTS: JsonPartsLimits = { parts: 128 * 1024, names: 16 * 1024 };

/** The value of JSON text. Throws SyntaxError for invalid text, and for text of more parts, which is not parsed. */
export function parseBounded(text: string, max: JsonPartsLimits): unknown {
  if (text.length > max.names && hasMoreParts(Buffer.from(text), max)) throw new SyntaxError("too many parts");
  return JSON.parse(text);
}
