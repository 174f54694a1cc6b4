/**
 * Estimates the memory of a parsed JSON document. Text takes about its own length; a document of nothing but empty objects
 * takes twenty times its bytes and blocks the one thread for seconds, and all requests of an isolate share 128 MB.
 */
import type { Steps } from "../../../../shared/steps.ts";
import { COLON, COMMA, OPEN_BRACE, OPEN_BRACKET, QUOTE } from "../../../../shared/wire/ascii.ts";
import { IN_ESCAPE, stringEnd } from "../../../../shared/wire/json-skip.ts";

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
/** Bytes of a long string that are searched at once. */
const STRING_BYTES = 32 * 1024;
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
    const near = stringEnd(bytes, at + 1, Math.min(at + STEP_BYTES, bytes.byteLength));
    const end = near < 0 ? yield* farStringEnd(bytes, at + 1) : near;
    at = end < 0 ? bytes.byteLength : end - 1;
    if (near < 0) stepAt = at;
  }
  return weight;
}

/** The end of a string that is not near; -1: it has none. */
export function* farStringEnd(bytes: Uint8Array, from: number): Steps<number> {
  for (let at = from; at < bytes.byteLength; ) {
    const to = Math.min(at + STRING_BYTES, bytes.byteLength);
    const end = stringEnd(bytes, at, to);
    if (end >= 0) return end;
    yield (to - at) / BYTES_PER_UNIT;
    at = end === IN_ESCAPE ? to + 1 : to;
  }
  return -1;
}
