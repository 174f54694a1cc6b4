/**
 * For which platform a package is, by its name: `@tool/linux-x64-musl`. Pure; runs on any Node.
 */

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
 * @returns {string | undefined}
 */
function wordOf(name, table) {
  return name
    .split(/[^a-z0-9]+/)
    .map((word) => (Object.hasOwn(table, word) ? table[word] : undefined))
    .find(Boolean);
}

/**
 * The platform in a package's name, in the words of a lock file; nothing if the name has none.
 * @param {string} name
 * @returns {{ os?: string[], cpu?: string[], libc?: string[] }}
 */
export function platformOf(name) {
  const [os, cpu] = [wordOf(name, SYSTEMS), wordOf(name, PROCESSORS)];
  return {
    ...(os === undefined ? {} : { os: [os] }),
    ...(cpu === undefined ? {} : { cpu: [cpu] }),
    ...(name.includes("musl") ? { libc: ["musl"] } : {}),
  };
}
