/**
 * Where scheduled backups are kept (docs/rules/backup.md#schedule): a folder or a bucket. A place has whole backups only: one
 * that was cut off while it was stored has no name there.
 */

/** Each call throws {@link BackupPlaceError}, and ends with its signal. */
export interface BackupPlace {
  /** Where it is, without credentials. */
  readonly shown: string;
  /** The names of all backups in it, in no particular order. */
  names(signal: AbortSignal): Promise<readonly string[]>;
  /** Stores a backup whole or not at all. */
  store(name: string, content: Uint8Array, signal: AbortSignal): Promise<void>;
  read(name: string, signal: AbortSignal): Promise<Uint8Array>;
  /** A name that does not exist is not an error. */
  remove(name: string, signal: AbortSignal): Promise<void>;
}

/** Why a place cannot be used, in words of our own. */
export class BackupPlaceError extends Error {
  override readonly name = "BackupPlaceError";
}
