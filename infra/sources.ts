/** Shows whether the result of source files is still up to date. */
import { createHash } from "node:crypto";
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..");

/** What says which packages there are; an image has no lock file, and a checkout no list of its parts. */
const OF_PACKAGES = ["package.json", "package-lock.json", "sbom.cdx.json"];

/**
 * A hash of every source file in folders of the project, by its name and content, and of the list of packages. `root`: the
 * project's folder.
 */
export function hashOfSources(folders: readonly string[], root = ROOT): string {
  const sources = globSync(
    folders.map((folder) => `${folder}/**/*.{ts,tsx,css,json,mjs}`),
    { cwd: root, exclude: (name) => name.endsWith(".test.ts") },
  );
  const hash = createHash("sha256");
  for (const file of [...OF_PACKAGES.filter((name) => existsSync(join(root, name))), ...sources.sort()]) {
    const content = readFileSync(join(root, file));
    hash.update(`${file} ${content.byteLength}\n`).update(content);
  }
  return hash.digest("hex");
}
