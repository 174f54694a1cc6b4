/**
 * `npm run containers:secrets`: makes the secrets of compose.yaml, as files in infra/containers/secrets. A secret that is there
 * stays as it is. The folder is for its owner alone; the files in it can be read by the users of the containers.
 */
import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { secretTexts } from "./secret-texts.ts";

const FOLDER = join(import.meta.dirname, "secrets");

mkdirSync(FOLDER, { recursive: true, mode: 0o700 });
chmodSync(FOLDER, 0o700);
const known = (name: string): string | undefined => {
  const path = join(FOLDER, name);
  return existsSync(path) ? readFileSync(path, "utf8").trim() : undefined;
};
const made = Object.entries(secretTexts((bytes) => randomBytes(bytes), known)).filter(
  ([name]) => known(name) === undefined,
);
for (const [name, text] of made) writeFileSync(join(FOLDER, name), `${text}\n`, { mode: 0o444, flag: "wx" });
process.stdout.write(
  `${made.length} secrets made in ${FOLDER}; keep encryption-key and api-key-pepper, apart from the backups\n`,
);
