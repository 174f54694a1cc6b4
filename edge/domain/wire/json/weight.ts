/**
 * Estimates the memory of a parsed JSON document. Text takes about its own length; a document of nothing but empty objects
 * takes twenty times its bytes and blocks the one thread for seconds, and all requests of an isolate share 128 MB.
 */
import type { Steps } from "../../../../shared/steps.ts";
import { COLON, COMMA, OPEN_BRACE, OPEN_BRACKET, QUOTE } from "../../../../shared/wire/ascii.ts";
import { stringEnd } from "../../../../shared/wire/json-skip.ts";

/** Estimated bytes of each kind of value, without the text of strings, by the byte that shows one. */
const WEIGHTS: Readonly<Record<number, number>> = {
  [OPEN_BRACKET]: 64,
  [OPEN_BRACE]: 64,
  [COLON]: 48,
  [QUOTE]: 40,
  [COMMA]: 8,
};
const WEIGHT_TABLE = Uint8Array.from({ length: 256 }, (_, byte) => WEIGHTS[byte] ?? 0);

/** A step is taken after so many bytes, or the end of a string; a unit of work is as many. */
const STEP_BYTES = 4 * 1024;
const BYTES_PER_UNIT = 4;

/**
 * How many bytes the parts of a document (objects, lists, members, strings, numbers; without the text in them) would take; a
 * document of more than `maxBytes` is not read further. It does not check whether the document is valid.
 */
export function* weightOfJson(bytes: Uint8Array, maxBytes: number): Steps<number> {
  let [weight, stepAt] = [0, 0];
  for (let at = 0; at < bytes.byteLength && weight <= maxBytes; at += 1) {
    const byte = bytes[at] ?? 0;
    if (at - stepAt >= STEP_BYTES) {
      yield (at - stepAt) / BYTES_PER_UNIT;
      stepAt = at;
    }
    weight += WEIGHT_TABLE[byte] ?? 0;
    if (byte !== QUOTE) continue;
    const end = stringEnd(bytes, at + 1);
    at = end < 0 ? bytes.byteLength : end - 1;
  }
  return weight;
}
