/**
 * No package is installed whose content the lock does not know. Each entry has the digest of its tarball (`integrity`), asked
 * of the registry where npm left it out; an optional package that the registry cannot vouch for is refused: it stays in the
 * lock, because `npm ci` wants every dependency there, and is marked for a platform that does not exist, so that npm never
 * fetches it. Runs on any Node.
 */
import { spawnSync } from "node:child_process";
import { platformOf } from "./lock-platforms.mjs";
import { admits } from "./lock-state.mjs";

/** @typedef {import("./lock-state.mjs").Lock} Lock */
/** @typedef {import("./lock-state.mjs").LockedPackage} LockedPackage */
/** @typedef {import("./lock-state.mjs").Platform} Platform */
/** @typedef {Pick<LockedPackage, "integrity" | "resolved" | "os" | "cpu" | "libc">} Known */

/** The operating system of a refused package. */
export const UNVERIFIED = "unverified";

/**
 * True for a package that npm installs nowhere, because its content is not known.
 * @param {LockedPackage} entry
 */
export function isRefused(entry) {
  return [entry.os ?? []].flat().join() === UNVERIFIED;
}

/**
 * Refused packages that are made for a platform, as their names tell.
 * @param {Lock} lock
 * @param {Platform} platform
 * @returns {string[]} names
 */
export function refusedFor(lock, platform) {
  return Object.entries(lock.packages ?? {})
    .filter(([, entry]) => isRefused(entry))
    .map(([path, entry]) => nameOf(path, entry))
    .filter((name) => {
      const { os, cpu, libc } = platformOf(name);
      return os !== undefined && admits(os, platform.os) && admits(cpu, platform.cpu) && admits(libc, platform.libc);
    });
}

/**
 * The name of the package at a place in the lock, also when it is installed under another.
 * @param {string} path
 * @param {LockedPackage} entry
 */
function nameOf(path, entry) {
  return entry.name ?? path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
}

/**
 * The lock with the integrity of every package, or its refusal. Throws for a package that is not optional and unknown.
 * @param {Lock} lock
 * @param {(name: string, version: string) => Known | undefined} integrityOf what the registry says of it; undefined: nothing
 * @returns {{ lock: Lock, found: string[], refused: string[] }}
 */
export function verifyLock(lock, integrityOf) {
  /** @type {Record<string, LockedPackage>} */
  const packages = {};
  const [found, refused] = [/** @type {string[]} */ ([]), /** @type {string[]} */ ([])];
  for (const [path, entry] of Object.entries(lock.packages ?? {})) {
    packages[path] = entry;
    if (path === "" || entry.link || entry.inBundle || entry.integrity !== undefined) continue;
    const [name, version] = [nameOf(path, entry), entry.version ?? ""];
    const known = integrityOf(name, version);
    if (known?.integrity !== undefined) {
      const { os: _os, cpu: _cpu, libc: _libc, ...rest } = entry;
      packages[path] = { ...rest, ...known };
      found.push(`${path}@${version}`);
    } else if (entry.optional) {
      packages[path] = { ...entry, os: [UNVERIFIED] };
      refused.push(`${path}@${version}`);
    } else {
      throw new Error(`package-lock.json: ${path}@${version} has no integrity, and the registry does not say it`);
    }
  }
  return { lock: { ...lock, packages }, found, refused };
}

/**
 * What the configured registry says of a package's version; undefined when it does not have it, or does not answer.
 * @param {string} name
 * @param {string} version
 * @returns {Known | undefined}
 */
export function registryIntegrity(name, version) {
  const args = ["view", `${name}@${version}`, "dist", "os", "cpu", "libc", "--json"];
  const { status, stdout } = spawnSync("npm", args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  if (status !== 0) return undefined;
  try {
    const { dist, os, cpu, libc } = JSON.parse(stdout);
    if (typeof dist?.integrity !== "string" || typeof dist.tarball !== "string") return undefined;
    const allowed = Object.entries({ os, cpu, libc }).filter(([, words]) => words !== undefined);
    return { resolved: dist.tarball, integrity: dist.integrity, ...Object.fromEntries(allowed) };
  } catch {
    return undefined;
  }
}
