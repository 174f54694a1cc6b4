/**
 * Estimates the memory of a parsed JSON document. Text takes about its own length; a document of nothing but empty objects
 * takes twenty times its bytes and blocks the one thread for seconds, and all requests of an isolate share 128 MB.
 */
import { COLON, COMMA, OPEN_BRACE, OPEN_BRACKET, QUOTE } from "../bytes/ascii.ts";
import { stringEnd } from "./top-level.ts";

/** Estimated bytes of each kind of value, without the text of strings. */
const CONTAINER_BYTES = 64;
const MEMBER_BYTES = 48;
const STRING_BYTES = 40;
const ITEM_BYTES = 8;

/**
 * Whether the parts of a document (objects, lists, members, strings, numbers; without the text in them) would take more
 * than `maxBytes`. It does not check whether the document is valid.
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
