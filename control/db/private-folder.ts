/**
 * Rights of the folders that embedded parts keep their data in (docs/rules/secrets.md#private-files): the folder and
 * everything below it is for its owner alone, whatever the umask and whatever an older version or a library made of
 * them. Folders above are left alone.
 */
import { chmodSync, lstatSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";

const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

/** Another process has removed the entry meanwhile, or it belongs to another user, who alone may change its rights. */
const isNotOurs = (error: unknown): boolean =>
  ["ENOENT", "EPERM"].includes((error as NodeJS.ErrnoException).code ?? "");

/**
 * Makes the folder when it is missing, and takes the rights of others from it and from every folder and file below. Links
 * are not followed, and what belongs to another user is left as it is. Throws the system's error for anything else.
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
    // the folder first: nobody else gets at its files from here on
    if (isFolder) for (const name of readdirSync(path)) narrow(join(path, name));
  } catch (error) {
    if (!isNotOurs(error)) throw error;
  }
}
