/** Counts the values of JSON text without parsing it, which would take many times the memory of its bytes. Pure. */
import { CLOSE_BRACE, CLOSE_BRACKET, COLON, COMMA, OPEN_BRACE, OPEN_BRACKET, QUOTE } from "../../shared/wire/ascii.ts";
import { stringEnd } from "../../shared/wire/json-skip.ts";

/** The most commas, objects and lists of a text, and the most names of one of its objects. */
interface JsonPartsLimits {
  readonly parts: number;
  readonly names: number;
}

/** Whether there are more of these outside of strings. It does not check whether the text is valid. */
export function hasMoreParts(json: Uint8Array, max: JsonPartsLimits): boolean {
  if (json.byteLength <= max.names) return false;
  const names = [0];
  let parts = 0;
  for (let at = 0; at < json.byteLength; at += 1) {
    const byte = json[at];
    if (byte === COMMA || byte === OPEN_BRACE || byte === OPEN_BRACKET) parts += 1;
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) names.push(0);
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) names.pop();
    else if (byte === COLON) names.push((names.pop() ?? 0) + 1);
    else if (byte === QUOTE) {
      const end = stringEnd(json, at + 1);
      if (end < 0) return false;
      at = end - 1;
    }
    if (parts > max.parts || (names.at(-1) ?? 0) > max.names) return true;
  }
  return false;
}
