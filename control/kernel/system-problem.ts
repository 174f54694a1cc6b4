/** Why the system refuses a file, a folder or a connection, in words and with its errno: `the disk is full (ENOSPC)`. */
import { getSystemErrorMessage } from "node:util";

/** Plainer than the system's own words. */
const WORDS: Readonly<Record<string, string>> = {
  EACCES: "no permission",
  EPERM: "no permission",
  EROFS: "the disk is read-only",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk's quota is used up",
  ENOENT: "it does not exist",
  EISDIR: "it is a folder, not a file",
  // as mkdir says it
  EEXIST: "a file is in the place of a folder",
  ENOTDIR: "a part of the path is not a folder",
};

/** Null for what is no error of the system. */
export function systemProblem(error: unknown): string | null {
  // one for each address that was tried
  const one: unknown = error instanceof AggregateError ? error.errors[0] : error;
  const { code, errno } = one instanceof Error ? (one as NodeJS.ErrnoException) : {};
  if (code === undefined || typeof errno !== "number") return null;
  return `${WORDS[code] ?? getSystemErrorMessage(errno)} (${code})`;
}
