/**
 * Completes package-lock.json after an `npm install` (`npm run lock`): a registry that lacks some optional platform packages
 * leaves them out of the lock, and `npm ci` then refuses the lock on every machine. Adds an entry, without a tarball, for
 * each optional dependency with an exact version that the lock does not resolve. Changes nothing else.
 */
import { readFileSync, realpathSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** @typedef {import("./lock-state.mjs").Lock} Lock */
/** @typedef {import("./lock-state.mjs").LockedPackage} LockedPackage */

const SYSTEMS = {
  aix: "aix",
  android: "android",
  darwin: "darwin",
  freebsd: "freebsd",
  linux: "linux",
  linuxmusl: "linux",
  netbsd: "netbsd",
  openbsd: "openbsd",
  openharmony: "openharmony",
  sunos: "sunos",
  win32: "win32",
  windows: "win32",
};
const PROCESSORS = {
  64: "x64",
  arm: "arm",
  arm64: "arm64",
  ia32: "ia32",
  loong64: "loong64",
  mips64el: "mips64el",
  ppc64: "ppc64",
  riscv64: "riscv64",
  s390x: "s390x",
  x64: "x64",
};

/**
 * The first word of a package name that a table knows.
 * @param {string} name
 * @param {Record<string, string>} table
 */
function wordOf(name, table) {
  return name
    .split(/[^a-z0-9]+/)
    .map((word) => (Object.hasOwn(table, word) ? table[word] : undefined))
    .find(Boolean);
}

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
      const [os, cpu] = [wordOf(name, SYSTEMS), wordOf(name, PROCESSORS)];
      packages[key] = {
        version,
        optional: true,
        ...(holder.dev ? { dev: true } : {}),
        ...(os === undefined ? {} : { os: [os] }),
        ...(cpu === undefined ? {} : { cpu: [cpu] }),
        ...(name.includes("musl") ? { libc: ["musl"] } : {}),
      };
      added.push(`${key}@${version}`);
    }
  }
  const sorted = Object.entries(packages).sort(([one], [other]) => (one < other ? -1 : 1));
  return { lock: { ...lock, packages: Object.fromEntries(sorted) }, added };
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const file = process.argv[2] ?? fileURLToPath(new URL("../package-lock.json", import.meta.url));
  const { lock, added } = completeLock(JSON.parse(readFileSync(file, "utf8")));
  if (added.length > 0) writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
  console.log(`lock: ${added.length} optional packages added${added.map((entry) => `\n  ${entry}`).join("")}`);
}
