/**
 * Whether node_modules holds what package-lock.json says. Pure; runs on any Node. It compares versions and never looks at
 * files, and it tolerates a missing optional package that is for another platform or that the registry does not carry.
 */

/**
 * @typedef {string | string[]} Allowed one word or several, `!word` for all but this one
 * @typedef {{ name?: string, version?: string, resolved?: string, integrity?: string, optional?: boolean, link?: boolean,
 *   inBundle?: boolean, dev?: boolean, os?: Allowed, cpu?: Allowed, libc?: Allowed, optionalDependencies?: Record<string, string> }} LockedPackage
 * @typedef {{ packages?: Record<string, LockedPackage> }} Lock
 * @typedef {{ os: string, cpu: string, libc: string }} Platform
 */

/**
 * True when a list such as `["!win32"]` admits the value; an absent list admits everything.
 * @param {Allowed | undefined} allowed
 * @param {string} value
 */
export function admits(allowed, value) {
  const list = [allowed ?? []].flat();
  if (list.length === 0) return true;
  if (list.includes(`!${value}`)) return false;
  return list.includes(value) || list.every((entry) => entry.startsWith("!"));
}

/**
 * The platform of this process, in the words of a lock file.
 * @returns {Platform}
 */
export function thisPlatform() {
  const report = /** @type {{ header?: { glibcVersionRuntime?: string } } | undefined} */ (process.report?.getReport());
  const libc = process.platform === "linux" && report?.header?.glibcVersionRuntime === undefined ? "musl" : "glibc";
  return { os: process.platform, cpu: process.arch, libc };
}

/**
 * Why node_modules must be installed again; empty if it matches the lock.
 * @param {Lock} lock package-lock.json
 * @param {Lock | undefined} installed node_modules/.package-lock.json; undefined when there is none
 * @param {Platform} platform
 * @param {{ omitDev?: boolean, cutOff?: boolean }} [options] `omitDev`: packages of development may be missing; `cutOff`: an
 * earlier installation that added packages was killed, and a folder that looks complete may be half unpacked
 * @returns {string[]} one short reason per package
 */
export function staleReasons(lock, installed, platform, { omitDev = false, cutOff = false } = {}) {
  if (installed?.packages === undefined) return ["nothing is installed yet"];
  const reasons = cutOff ? ["an earlier installation was cut off"] : [];
  for (const [path, wanted] of Object.entries(lock.packages ?? {})) {
    if (path === "" || wanted.link) continue;
    const found = installed.packages[path];
    if (found === undefined && omitDev && wanted.dev) continue;
    if (found === undefined) {
      // only a platform package with a known tarball must be there; any other optional one may have been left out
      const isForHere =
        (wanted.os ?? wanted.cpu) !== undefined &&
        wanted.integrity !== undefined &&
        admits(wanted.os, platform.os) &&
        admits(wanted.cpu, platform.cpu) &&
        admits(wanted.libc, platform.libc);
      if (!wanted.optional || isForHere) reasons.push(`${path} is missing`);
    } else if (found.version !== wanted.version) {
      reasons.push(`${path} is ${found.version}, not ${wanted.version}`);
    }
  }
  return reasons;
}

/**
 * True if missing packages can be added to the existing ones; otherwise the folder must be created from scratch.
 * @param {readonly string[]} reasons of {@link staleReasons}
 */
export function onlyMissing(reasons) {
  return reasons.every((reason) => reason.endsWith(" is missing"));
}

/**
 * True when packages are installed that only development needs.
 * @param {Lock} lock package-lock.json
 * @param {Lock | undefined} installed node_modules/.package-lock.json
 */
export function hasDevPackages(lock, installed) {
  return Object.keys(installed?.packages ?? {}).some((path) => lock.packages?.[path]?.dev === true);
}
