/**
 * Backup MACs: an HMAC-SHA-256 for each sealed secret over the entry it belongs to and the origin of the address it is
 * sent to, under a key that is derived from the encryption key (docs/rules/backup.md#secrets-belong-to-entries). With
 * write access to the backup file, but without that key, a secret cannot be moved to another entry or address. A whole
 * older file is still valid, as it was when it was exported.
 */
import { Buffer } from "node:buffer";

const encoder = new TextEncoder();

type HmacKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

/** Derived from GATEWAY_ENCRYPTION_KEY, and from GATEWAY_ENCRYPTION_KEYS_OLD for the MACs of files of before. */
export interface BackupKey {
  readonly current: HmacKey;
  readonly old: readonly HmacKey[];
}

/** Derives the keys (HKDF-SHA-256, info `gateway-backup`), each from base64 of 32 bytes, which the caller has validated. */
export async function importBackupKey(current: string, old: readonly string[] = []): Promise<BackupKey> {
  return { current: await deriveHmacKey(current), old: await Promise.all(old.map(deriveHmacKey)) };
}

async function deriveHmacKey(encryptionKey: string): Promise<HmacKey> {
  const secret = Buffer.from(encryptionKey.trim(), "base64");
  const base = await crypto.subtle.importKey("raw", secret, "HKDF", false, ["deriveKey"]);
  const hkdf = { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info: encoder.encode("gateway-backup") };
  const hmac = { name: "HMAC", hash: "SHA-256", length: 256 };
  return await crypto.subtle.deriveKey(hkdf, base, hmac, false, ["sign", "verify"]);
}

/** A sealed secret, the entry it belongs to, and the origin it is sent to. */
export interface SealedSecret {
  readonly entity: string;
  /** Primary key of the row. */
  readonly id: string;
  /** Path of the field, with dots. */
  readonly field: string;
  /** Origin as in shared/network/origin.ts. */
  readonly origin: string;
  readonly ciphertext: string;
}

/** The MAC: 64 hex digits. */
export async function macOf(key: BackupKey, secret: SealedSecret): Promise<string> {
  return Buffer.from(await crypto.subtle.sign("HMAC", key.current, messageOf(secret))).toString("hex");
}

/** True when `mac` is the MAC of this secret with this entry and origin. */
export async function isMacOf(key: BackupKey, secret: SealedSecret, mac: string): Promise<boolean> {
  const given = Buffer.from(mac, "hex");
  for (const each of [key.current, ...key.old])
    if (await crypto.subtle.verify("HMAC", each, given, messageOf(secret))) return true;
  return false;
}

function messageOf({ entity, id, field, origin, ciphertext }: SealedSecret): Uint8Array<ArrayBuffer> {
  return encoder.encode(JSON.stringify([entity, id, field, origin, ciphertext]));
}
