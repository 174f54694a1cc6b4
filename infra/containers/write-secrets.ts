/**
 * The secrets of compose.yaml as files. A secret that is there stays as it is, and a file gets its name when its content is on the
 * disk: a process that is killed leaves no half secret that a later one takes for whole.
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
    // asked anew for each: an address fits the password that is on the disk, whoever has made that
    const text = secretTexts(random, known)[name] ?? "";
    return stored(join(folder, name), `${join(folder, `.${name}`)}.${random(DRAFT_BYTES).toString("hex")}`, text);
  });
}

/** False when the file was there already. Its mode is this one whatever the umask of the process. */
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
