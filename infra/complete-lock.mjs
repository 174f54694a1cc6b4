/**
 * Completes package-lock.json after an `npm install` (`npm run lock`): a registry that lacks some optional platform packages
 * leaves them out of the lock, and `npm ci` then refuses the lock on every machine. Adds an entry for each optional dependency
 * with an exact version that the lock does not resolve, and ensures that nothing with unknown content is installed
 * (lock-integrity.mjs). With `--offline` no registry is queried.
 */
import { readFileSync, realpathSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { registryIntegrity, verifyLock } from "./lock-integrity.mjs";
import { platformOf } from "./lock-platforms.mjs";

/** @typedef {import("./lock-state.mjs").Lock} Lock */
/** @typedef {import("./lock-state.mjs").LockedPackage} LockedPackage */

/**
 * Where the lock resolves `name` for the package at `path`; undefined when nowhere.
 * @param {Record<string, LockedPackage>} packages
 * @param {string} path
 * @param {string} name
 */
function resolve(packages, path, name) {
  for (
    let folder = path;
    ;
    folder = folder.slice(0, Math.max(0, folder.lastIndexOf("node_modules/"))).replace(/\/$/, "")
  ) {
    const key = `${folder === "" ? "" : `${folder}/`}node_modules/${name}`;
    if (packages[key] !== undefined) return packages[key];
    if (folder === "") return undefined;
  }
}

/**
 * The lock with every optional dependency of an exact version resolved.
 * @param {Lock} lock
 * @returns {{ lock: Lock, added: string[] }}
 */
export function completeLock(lock) {
  const packages = { ...lock.packages };
  const added = [];
  for (const [path, holder] of Object.entries(lock.packages ?? {})) {
    for (const [name, version] of Object.entries(holder.optionalDependencies ?? {})) {
      if (!/^\d+\.\d+\.\d+/.test(version) || resolve(packages, path, name)?.version === version) continue;
      const top = `node_modules/${name}`;
      const key = packages[top] === undefined ? top : `${path}/${top}`;
      packages[key] = { version, optional: true, ...(holder.dev ? { dev: true } : {}), ...platformOf(name) };
      added.push(`${key}@${version}`);
    }
  }
  const sorted = Object.entries(packages).sort(([one], [other]) => (one < other ? -1 : 1));
  return { lock: { ...lock, packages: Object.fromEntries(sorted) }, added };
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const words = process.argv.slice(2);
  const isOffline = words.includes("--offline");
  const file =
    words.find((word) => !word.startsWith("--")) ?? fileURLToPath(new URL("../package-lock.json", import.meta.url));
  const before = readFileSync(file, "utf8");
  const { lock, added } = completeLock(JSON.parse(before));
  const { lock: verified, found, refused } = verifyLock(lock, isOffline ? () => undefined : registryIntegrity);
  const after = `${JSON.stringify(verified, null, 2)}\n`;
  if (after !== before) writeFileSync(file, after);
  for (const [what, entries] of Object.entries({ added, verified: found, "refused, no integrity is known": refused }))
    console.log(`lock: ${entries.length} optional packages ${what}${entries.map((entry) => `\n  ${entry}`).join("")}`);
}
