/** Secrets that the stack generates and keeps in its data folder, readable by its owner only. */
import { randomBytes } from "node:crypto";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ownEntry } from "../../control/db/private-folder.ts";
import { StackEnvError } from "./env.ts";

/** A secret of the data folder. */
interface StoredSecret {
  readonly secret: string;
  /** Whether this start generated it. */
  readonly made: boolean;
}

/** Name of the secret's file -> how many random bytes it has, which are written in base64url. */
const SECRET_BYTES = {
  "admin-token": 24,
  "console-password": 18,
  "console-session-secret": 32,
} as const;

/** A secret that the stack can generate, by the name of its file. */
export type SecretName = keyof typeof SECRET_BYTES;

/**
 * The content of a file that only this user may know; null if there is none. Throws ForeignEntry and StackEnvError if another
 * user could have read or written it.
 */
export function readPrivate(path: string): string | null {
  ownEntry(path);
  const state = statSync(path, { throwIfNoEntry: false });
  if (state === undefined) return null;
  // a volume of containers gives the group of the process its rights
  const ofOthers = state.mode & (state.gid === process.getgid?.() ? 0o006 : 0o066);
  if ((ofOthers & 0o022) !== 0)
    throw new StackEnvError(
      `other users can write ${path}: remove it, or, if you trust its content, run chmod 600 ${path}`,
    );
  if (ofOthers !== 0)
    throw new StackEnvError(
      `other users can read ${path}, and may know the secret: remove it for a new one, or, if nobody has read it, run chmod 600 ${path}`,
    );
  return readFileSync(path, "utf8").trim();
}

/** The secret of a data folder: generated on the first start that needs it, then always the same. Throws as {@link readPrivate}. */
export function storedSecret(dataDir: string, name: SecretName): StoredSecret {
  const path = join(dataDir, name);
  const kept = readPrivate(path);
  if (kept) return { secret: kept, made: false };
  const secret = randomBytes(SECRET_BYTES[name]).toString("base64url");
  writeFileSync(path, `${secret}\n`, { mode: 0o600 });
  return { secret, made: true };
}
