/** `npm run containers:secrets`: makes the secrets of compose.yaml, as files in infra/containers/secrets. */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { writeSecrets } from "./write-secrets.ts";

const FOLDER = join(import.meta.dirname, "secrets");

const made = writeSecrets(FOLDER, (bytes) => randomBytes(bytes));
process.stdout.write(
  `${made.length} secrets made in ${FOLDER}; keep encryption-key and api-key-pepper, apart from the backups\n`,
);
