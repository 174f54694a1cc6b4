/**
 * Whether this gateway can read the credentials of a backup (docs/rules/backup.md#encryption-key): decided before
 * anything is written. The file carries a known text sealed with the exporter's key; a file without it is judged by its
 * credentials.
 */
import type { Backup } from "../../shared/schema/backup.ts";
import { isSealed, type SealKey, seal, unseal } from "../../shared/seal.ts";
import { KEY_CHECK_TEXT } from "../encryption/encryption-check.ts";

/** The sentinel of an export; null without a key. */
export async function makeKeyCheck(key: SealKey | undefined): Promise<string | null> {
  return key === undefined ? null : await seal(KEY_CHECK_TEXT, key);
}

type BackupKeyStatus = "readable" | "backup_key_mismatch" | "backup_key_missing";

/**
 * The key matrix. `secrets` are the stored credentials of the file, sealed or not.
 * Neither side has a key, or only this one: readable, and what is plain is sealed when it is written.
 */
export async function checkBackupKey(
  encryption: Backup["encryption"],
  secrets: readonly string[],
  key: SealKey | undefined,
): Promise<BackupKeyStatus> {
  const sealed = secrets.filter(isSealed);
  if (!encryption.cipher_enabled && encryption.key_check === null && sealed.length === 0) return "readable";
  if (key === undefined) return "backup_key_missing";
  if (encryption.key_check !== null)
    return (await opened(encryption.key_check, key)) === KEY_CHECK_TEXT ? "readable" : "backup_key_mismatch";
  for (const secret of sealed) if ((await opened(secret, key)) === null) return "backup_key_mismatch";
  return "readable";
}

async function opened(stored: string, key: SealKey): Promise<string | null> {
  if (!isSealed(stored)) return null;
  try {
    return await unseal(stored, key);
  } catch {
    return null;
  }
}
