/**
 * Permissions of the folders in which embedded parts keep their data (docs/rules/secrets.md#private-files): only the owner
 * may use the folder and everything below it, whatever the umask is and whatever an older version or a library has set.
 * Folders above it are not changed. What another user has put there is refused.
 */
import { chmodSync, lstatSync, mkdirSync, readdirSync, type Stats } from "node:fs";
import { join } from "node:path";

const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

/** Another user could have put it there. The message is one line for the operator. */
export class ForeignEntry extends Error {
  override readonly name = "ForeignEntry";
}

/** True for a user who is neither this one nor root, whom nothing on this machine is safe from. */
export const isForeign = (uid: number): boolean => uid !== 0 && uid !== process.getuid?.();

/** The state of an entry, undefined when it is missing; links are not followed. Throws ForeignEntry. */
export function ownEntry(path: string): Stats | undefined {
  const entry = lstatSync(path, { throwIfNoEntry: false });
  if (entry !== undefined && isForeign(entry.uid))
    throw new ForeignEntry(
      `${path} belongs to another user (uid ${entry.uid}): remove it, or, if you trust its content, run chown -hR ${process.getuid?.()} ${path}`,
    );
  return entry;
}

/** Another process has removed the entry, or root owns it, who alone may change its permissions. */
const isNotOurs = (error: unknown): boolean =>
  ["ENOENT", "EPERM"].includes((error as NodeJS.ErrnoException).code ?? "");

/**
 * Makes the folder when it is missing, and removes the permissions of other users from it and from every folder and file
 * below. Links are not followed, and entries that root owns are not changed. Throws ForeignEntry, and the system's error for
 * every other failure.
 */
export function makePrivate(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: FOLDER_MODE });
  narrow(folder);
}

function narrow(path: string): void {
  try {
    const entry = ownEntry(path);
    if (entry === undefined) return;
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
