/** Counts the values of JSON text without parsing it, which would take many times the memory of its bytes. Pure. */
import { COMMA, OPEN_BRACE, OPEN_BRACKET, QUOTE } from "../../shared/wire/ascii.ts";
import { stringEnd } from "../../shared/wire/json-skip.ts";

/** Whether there are more than `max` commas, objects and lists outside of strings. It does not check whether the text is valid. */
export function hasMoreParts(json: Uint8Array, max: number): boolean {
  if (json.byteLength <= max) return false;
  let parts = 0;
  for (let at = 0; at < json.byteLength && parts <= max; at += 1) {
    const byte = json[at];
    if (byte === COMMA || byte === OPEN_BRACE || byte === OPEN_BRACKET) parts += 1;
    else if (byte === QUOTE) {
      const end = stringEnd(json, at + 1);
      if (end < 0) break;
      at = end - 1;
    }
  }
  return parts > max;
}
