/**
 * What vouches for the secrets of a backup: an HMAC-SHA-256 per sealed secret over the entry it is of and the origin of the
 * address it is sent to, under a key derived from the encryption key (decisions §43.5). Whoever can write the file cannot move
 * a secret to another entry or address without that key. A whole older file is vouched for as it was when it was exported.
 */
import { Buffer } from "node:buffer";

const encoder = new TextEncoder();

/** Derived from GATEWAY_ENCRYPTION_KEY. */
export type BackupKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

/** Derives the key (HKDF-SHA-256, info `gateway-backup`) from base64 of 32 bytes, which has been checked before. */
export async function importBackupKey(encryptionKey: string): Promise<BackupKey> {
  const secret = Buffer.from(encryptionKey.trim(), "base64");
  const base = await crypto.subtle.importKey("raw", secret, "HKDF", false, ["deriveKey"]);
  const hkdf = { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info: encoder.encode("gateway-backup") };
  const hmac = { name: "HMAC", hash: "SHA-256", length: 256 };
  return await crypto.subtle.deriveKey(hkdf, base, hmac, false, ["sign", "verify"]);
}

/** A sealed secret, what it is of, and where it is sent to. */
export interface SealedSecret {
  readonly entity: string;
  /** Primary key of the row. */
  readonly id: string;
  /** Dotted. */
  readonly field: string;
  /** shared/origin.ts */
  readonly origin: string;
  readonly ciphertext: string;
}

/** 64 hex digits. */
export async function macOf(key: BackupKey, secret: SealedSecret): Promise<string> {
  return Buffer.from(await crypto.subtle.sign("HMAC", key, messageOf(secret))).toString("hex");
}

/** True for the mac of this very secret, entry and origin. */
export async function isMacOf(key: BackupKey, secret: SealedSecret, mac: string): Promise<boolean> {
  return await crypto.subtle.verify("HMAC", key, Buffer.from(mac, "hex"), messageOf(secret));
}

function messageOf({ entity, id, field, origin, ciphertext }: SealedSecret): Uint8Array<ArrayBuffer> {
  return encoder.encode(JSON.stringify([entity, id, field, origin, ciphertext]));
}
