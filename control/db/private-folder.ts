/**
 * Permissions of the folders in which embedded parts keep their data (docs/rules/secrets.md#private-files): only the owner
 * may use the folder and everything below it, whatever the umask is and whatever an older version or a library has set.
 * Folders above it are not changed.
 */
import { chmodSync, lstatSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";

const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

/** Another process has removed the entry, or another user owns it, who alone may change its permissions. */
const isNotOurs = (error: unknown): boolean =>
  ["ENOENT", "EPERM"].includes((error as NodeJS.ErrnoException).code ?? "");

/**
 * Makes the folder when it is missing, and removes the permissions of other users from it and from every folder and file
 * below. Links are not followed, and entries that another user owns are not changed. Throws the system's error for every
 * other failure.
 */
export function makePrivate(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: FOLDER_MODE });
  narrow(folder);
}

function narrow(path: string): void {
  try {
    const entry = lstatSync(path);
    const isFolder = entry.isDirectory();
    if (!isFolder && !entry.isFile()) return;
    const mode = isFolder ? FOLDER_MODE : FILE_MODE;
    if ((entry.mode & 0o777) !== mode) chmodSync(path, mode);
    // the folder comes first, so that from here on no other user can reach its files
    if (isFolder) for (const name of readdirSync(path)) narrow(join(path, name));
  } catch (error) {
    if (!isNotOurs(error)) throw error;
  }
}
