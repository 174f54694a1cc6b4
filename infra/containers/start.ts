/**
 * The first process of an image or a service: `node infra/containers/start.ts control|edge|all-in-one`. Reads the secrets that are
 * in files and becomes the service.
 */
import { join } from "node:path";
import { IMAGE_CONTENTS, IMAGES, type ImageName } from "./images.ts";
import { SecretFileError, withSecretFiles } from "./secret-files.ts";

const ROOT = join(import.meta.dirname, "../..");

const name = process.argv[2] as ImageName | undefined;
if (name === undefined || !IMAGES.includes(name)) fail(`usage: start.ts ${IMAGES.join("|")}`);
try {
  process.env = withSecretFiles(process.env);
} catch (error) {
  if (!(error instanceof SecretFileError)) throw error;
  fail(error.message);
}
const [script, ...args] = IMAGE_CONTENTS[name].command;
process.chdir(ROOT);
process.argv = [process.execPath, join(ROOT, script), ...args];
await import(join(ROOT, script));

function fail(message: string): never {
  process.stderr.write(`gateway: ${message}\n`);
  process.exit(1);
}
