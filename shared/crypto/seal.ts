/**
 * Secrets at rest: AES-256-GCM with the prefix `enc:v1:` (docs/rules/secrets.md#at-rest). The text after the prefix is
 * base64 of the 12-byte nonce, the ciphertext and the tag. A value without the prefix is plaintext that was stored
 * before a key was configured.
 */
import { fromBase64, toBase64 } from "./base64.ts";

const PREFIX = "enc:v1:";
const NONCE_BYTES = 12;

type AesKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

/** The imported GATEWAY_ENCRYPTION_KEY, which seals, and those of GATEWAY_ENCRYPTION_KEYS_OLD, which only open. */
export interface SealKey {
  readonly current: AesKey;
  readonly old: readonly AesKey[];
}

/** Thrown when a sealed value cannot be opened: no key, another key, or damaged text. Contains no secret. */
export class SealError extends Error {
  override readonly name = "SealError";
}

/** Purpose of the key that seals captured calls (docs/rules/capture.md#store). */
export const CAPTURE_PURPOSE = "gateway-capture";

/**
 * Imports texts that are each base64 of 32 bytes. `purpose`: derives keys for this purpose from them (HKDF-SHA-256), so that what one
 * seals the other does not open. Throws SealError when a text is anything else.
 */
export async function importSealKey(
  current: string,
  old: readonly string[] = [],
  purpose: string | null = null,
): Promise<SealKey> {
  const imported = async (text: string): Promise<AesKey> => await importAesKey(text, purpose);
  return { current: await imported(current), old: await Promise.all(old.map(imported)) };
}

async function importAesKey(base64: string, purpose: string | null): Promise<AesKey> {
  const raw = decodeBase64(base64.trim());
  if (raw === null || raw.byteLength !== 32) throw new SealError("the encryption key must be base64 of 32 bytes");
  if (purpose === null) return await crypto.subtle.importKey("raw", raw, "AES-GCM", false, ["encrypt", "decrypt"]);
  const base = await crypto.subtle.importKey("raw", raw, "HKDF", false, ["deriveKey"]);
  const hkdf = { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info: new TextEncoder().encode(purpose) };
  return await crypto.subtle.deriveKey(hkdf, base, { name: "AES-GCM", length: 256 }, false, ["encrypt", "decrypt"]);
}

/** True when the value has the prefix of a sealed secret. */
export function isSealed(value: string): boolean {
  return value.startsWith(PREFIX);
}

/** Seals a plaintext; without a key the plaintext is stored unchanged. */
export async function seal(plaintext: string, key: SealKey | undefined): Promise<string> {
  if (key === undefined) return plaintext;
  const nonce = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
  const sealed = await crypto.subtle.encrypt(
    { name: "AES-GCM", iv: nonce },
    key.current,
    new TextEncoder().encode(plaintext),
  );
  const out = new Uint8Array(NONCE_BYTES + sealed.byteLength);
  out.set(nonce);
  out.set(new Uint8Array(sealed), NONCE_BYTES);
  return PREFIX + toBase64(out);
}

/** True when the value is sealed, and `key` opens it with an old key only. */
export async function isSealedWithOld(stored: string, key: SealKey): Promise<boolean> {
  if (!isSealed(stored)) return false;
  const opens = async (by: SealKey): Promise<boolean> =>
    await unseal(stored, by).then(
      () => true,
      () => false,
    );
  return !(await opens({ ...key, old: [] })) && (await opens(key));
}

/** The plaintext of a stored value. Throws SealError when it is sealed and cannot be opened with `key`. */
export async function unseal(stored: string, key: SealKey | undefined): Promise<string> {
  if (!isSealed(stored)) return stored;
  if (key === undefined) throw new SealError("a stored secret is encrypted but no encryption key is configured");
  const bytes = decodeBase64(stored.slice(PREFIX.length));
  if (bytes === null || bytes.byteLength <= NONCE_BYTES) throw new SealError("a stored secret is damaged");
  const iv = bytes.subarray(0, NONCE_BYTES);
  for (const each of [key.current, ...key.old]) {
    const opened = crypto.subtle.decrypt({ name: "AES-GCM", iv }, each, bytes.subarray(NONCE_BYTES));
    const plain = await opened.catch(() => null);
    if (plain !== null) return new TextDecoder().decode(plain);
  }
  throw new SealError("a stored secret was encrypted with a different encryption key");
}

function decodeBase64(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    return fromBase64(text);
  } catch {
    return null;
  }
}
