/**
 * The secrets of compose.yaml as files. An existing secret stays unchanged, and a file gets its name when its content is on the
 * disk: a killed process leaves no partial secret that a later one could take for complete.
 */
import { chmodSync, existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { secretTexts } from "./secret-texts.ts";

/** The folder is for its owner alone; the users of the containers, which get single files of it, are others. */
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o444;
const DRAFT_BYTES = 9;

/** Makes the secrets that are missing in the folder; returns their names. */
export function writeSecrets(folder: string, random: (bytes: number) => Buffer): readonly string[] {
  mkdirSync(folder, { recursive: true, mode: FOLDER_MODE });
  chmodSync(folder, FOLDER_MODE);
  const known = (name: string): string | undefined => {
    const path = join(folder, name);
    return existsSync(path) ? readFileSync(path, "utf8").trim() : undefined;
  };
  return Object.keys(secretTexts(random, known)).filter((name) => {
    if (known(name) !== undefined) return false;
    // read again for each: an address fits the password on the disk, even if another process has written it
    const text = secretTexts(random, known)[name] ?? "";
    return stored(join(folder, name), `${join(folder, `.${name}`)}.${random(DRAFT_BYTES).toString("hex")}`, text);
  });
}

/** False if the file existed already. Its mode is this one under any umask of the process. */
function stored(path: string, draft: string, text: string): boolean {
  try {
    writeFileSync(draft, `${text}\n`, { mode: 0o600, flag: "wx", flush: true });
    chmodSync(draft, FILE_MODE);
    // a link never replaces a file, as a rename does
    linkSync(draft, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}
