/** Programs that some steps need and no npm package has, and the Debian packages that contain them. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { programPath } from "../harness/program-path.ts";
import type { Program } from "./steps.ts";

const PACKAGES: Readonly<Record<Program, readonly string[]>> = {
  chromium: ["chromium", "fonts-dejavu-core"],
  cc: ["gcc", "libc6-dev"],
  prometheus: ["prometheus"],
  caddy: ["caddy"],
  nginx: ["nginx-light"],
};
/** Other names that do as well. */
const NAMES: Partial<Record<Program, readonly string[]>> = {
  chromium: ["chromium", "chromium-browser", "google-chrome"],
};

/** Installs what is missing. Returns the command that would, where this machine or user cannot; null when all is there. */
export function installPrograms(programs: readonly Program[]): string | null {
  const missing = programs.filter((name) => !(NAMES[name] ?? [name]).some(isInstalled));
  if (missing.length === 0) return null;
  const words = ["install", "-qq", "-y", "--no-install-recommends", ...missing.flatMap((name) => PACKAGES[name])];
  const canInstall = process.getuid?.() === 0 && programPath("apt-get") !== undefined;
  // The list of packages may be there already, or be too old.
  if (canInstall && (aptGet(words) || (aptGet(["update", "-qq"]) && aptGet(words)))) return null;
  return `apt-get ${words.join(" ")}`;
}

function isInstalled(name: string): boolean {
  return programPath(name) !== undefined || existsSync(`/usr/sbin/${name}`);
}

function aptGet(words: readonly string[]): boolean {
  // RUNLEVEL keeps a service that a package brings from being started.
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive", RUNLEVEL: "1" };
  return spawnSync("apt-get", words, { env, stdio: ["ignore", "ignore", "inherit"] }).status === 0;
}
