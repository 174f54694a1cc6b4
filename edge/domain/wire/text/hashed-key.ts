/**
 * Texts of others as keys of a Map, a Set or an object: of a longer one the engine (V8) hashes nothing but its length, so that N
 * keys of one length take N² comparisons of all their characters.
 */
import { sha256Hex } from "../../../../shared/crypto/sha256.ts";
import type { Steps } from "../../../../shared/steps.ts";

/** The longest text that the engine hashes, in UTF-16 units. */
export const HASHED_MAX = 16_383;

/** No well-formed text starts with it. */
const LONG = "\ud800";

/** A key that only equal texts share, if they are well-formed. */
export function* hashedKey(text: string): Steps<string> {
  if (text.length <= HASHED_MAX) return text;
  let digests = "";
  for (let at = 0; at < text.length; ) {
    const end = at + HASHED_MAX;
    // half a character is not valid UTF-8
    const part = text.slice(at, end - (/[\ud800-\udbff]/.test(text[end - 1] ?? "") ? 1 : 0));
    digests += sha256Hex(part);
    at += part.length;
    yield part.length;
  }
  return LONG + sha256Hex(digests);
}
