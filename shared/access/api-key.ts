/**
 * Tenant API keys: form, generation, hashing (docs/rules/keys.md#secret). The secret is shown once and never stored;
 * only its hash is. Both planes hash with this function, so that each finds the keys that the other has issued.
 */
import { sha256Hex } from "../crypto/sha256.ts";

/** `sk_` and 48 hex characters. */
const KEY_PATTERN = /^sk_[0-9a-f]{48}$/;

/** Length of the display prefix. */
const KEY_PREFIX_LENGTH = 18;

type KeySecret = string;

/** A new secret from 24 random bytes, which are an argument. Throws RangeError for any other number of bytes. */
export function makeKeySecret(random24: Uint8Array): KeySecret {
  if (random24.byteLength !== 24) throw new RangeError("an API key is made of 24 random bytes");
  return `sk_${hex(random24)}`;
}

/** True when the text has the exact form of an issued secret. */
export function isKeySecret(text: string): boolean {
  return KEY_PATTERN.test(text);
}

/** The first 18 characters, stored for display. */
export function keyPrefix(secret: KeySecret): string {
  return secret.slice(0, KEY_PREFIX_LENGTH);
}

/**
 * SHA-256 of the secret or, with a pepper, of secret, 0x00, pepper; 64 lower-case hex digits
 * (docs/rules/keys.md#secret).
 */
export function hashKeySecret(secret: KeySecret, pepper: string | undefined): string {
  return sha256Hex(pepper === undefined || pepper === "" ? secret : `${secret}\u0000${pepper}`);
}

/** Shows which pepper a hash was made with, and nothing else of the pepper: 8 hex digits, also for no pepper. */
export function pepperId(pepper: string | undefined): string {
  return sha256Hex(`\u0000${pepper ?? ""}`).slice(0, 8);
}

/** Lower-case hex of bytes. */
function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
