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
 * The secret of a data folder: generated on the first start that needs it, then always the same. Throws ForeignEntry and
 * StackEnvError for one that another user could have written.
 */
export function storedSecret(dataDir: string, name: SecretName): StoredSecret {
  const path = join(dataDir, name);
  try {
    ownEntry(path);
    const { mode, gid } = statSync(path);
    // a volume of containers gives the group of the process the right to write
    if ((mode & 0o002) !== 0 || ((mode & 0o020) !== 0 && gid !== process.getgid?.()))
      throw new StackEnvError(
        `other users can write ${path}: remove it, or, if you trust its content, run chmod 600 ${path}`,
      );
    const secret = readFileSync(path, "utf8").trim();
    if (secret !== "") return { secret, made: false };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  const secret = randomBytes(SECRET_BYTES[name]).toString("base64url");
  writeFileSync(path, `${secret}\n`, { mode: 0o600 });
  return { secret, made: true };
}
