/**
 * How much memory a JSON document takes once it is parsed. Text takes about what it is long; a document of nothing but empty
 * objects takes twenty times its bytes and seconds of the one thread, and an isolate has 128 MB for everybody.
 */
import { COLON, COMMA, OPEN_BRACE, OPEN_BRACKET, QUOTE } from "../bytes/ascii.ts";
import { stringEnd } from "./top-level.ts";

/** Bytes that each kind of thing is taken to need, beside the text of strings. */
const CONTAINER_BYTES = 64;
const MEMBER_BYTES = 48;
const STRING_BYTES = 40;
const ITEM_BYTES = 8;

/**
 * Whether what a document is made of (objects, lists, members, strings, numbers; not the text in it) would take more than
 * `maxBytes`. Says nothing of whether it is valid.
 */
export function isHeavyJson(bytes: Uint8Array, maxBytes: number): boolean {
  let weight = 0;
  for (let at = 0; at < bytes.byteLength && weight <= maxBytes; at += 1) {
    switch (bytes[at]) {
      case QUOTE:
        weight += STRING_BYTES;
        at = (stringEnd(bytes, at) ?? bytes.byteLength) - 1;
        break;
      case COMMA:
        weight += ITEM_BYTES;
        break;
      case COLON:
        weight += MEMBER_BYTES;
        break;
      case OPEN_BRACKET:
      case OPEN_BRACE:
        weight += CONTAINER_BYTES;
        break;
      default:
    }
  }
  return weight > maxBytes;
}
