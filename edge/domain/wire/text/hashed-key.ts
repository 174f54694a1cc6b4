/**
 * Texts of others as keys of a Map, a Set or an object: of a longer one the engine (V8) hashes nothing but its length, so that N
 * keys of one length take N² comparisons of all their characters.
 */
import { sha256Hex } from "../../../../shared/crypto/sha256.ts";

/** The longest text that the engine hashes, in UTF-16 units. */
export const HASHED_MAX = 16_383;

/** A key that only equal texts have. Hashing a long one takes about a unit of work for each character. */
export function hashedKey(text: string): string {
  return text.length <= HASHED_MAX ? text : sha256Hex(text);
}
