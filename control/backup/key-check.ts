/**
 * Decides, before anything is written, whether this gateway can read the credentials of a backup
 * (docs/rules/backup.md#encryption-key). The file carries a known text that is sealed with the exporter's key. A file
 * without that text is checked by its credentials.
 */

import { isSealed, type SealKey, seal, unseal } from "../../shared/crypto/seal.ts";
import type { Backup } from "../../shared/schema/backup.ts";
import { KEY_CHECK_TEXT } from "../kernel/encryption/encryption-check.ts";

/** The known text, sealed, for an export; null without a key. */
export async function makeKeyCheck(key: SealKey | undefined): Promise<string | null> {
  return key === undefined ? null : await seal(KEY_CHECK_TEXT, key);
}

type BackupKeyStatus = "readable" | "backup_key_mismatch" | "backup_key_missing";

/**
 * Compares the keys of the two sides. `secrets` are the stored credentials of the file, sealed or not. When neither side
 * has a key, or only this side, the credentials are readable; plain ones are sealed when they are written.
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
