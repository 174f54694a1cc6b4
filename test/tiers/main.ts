/**
 * Runs the tests of a tier: `npm test`, `npm run check` (which is `.ci/run`) or `npm run test:release`. `npm test -- PATH...` runs
 * only the files whose path contains PATH, whatever their tags. `npm run test:area -- NAME [arguments of its tool]` runs one area.
 * A step that shares its phase with others prints its output when it ends. The last lines list the time of each step and of the
 * slowest files. After a failed step, running steps finish and no further step starts; the release tier continues, so that one night
 * shows every failure. The exit code is 1 when a step failed, and 2 when the tier or area is unknown or a program is missing.
 */

import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { programPath } from "../harness/program-path.ts";
import { endWith, runPhases } from "./run-phases.ts";
import { AREAS, type Phase, type Program, TIERS } from "./steps.ts";
import { readReports, summary } from "./summary.ts";

/** The Debian packages of programs that some steps need and no npm package has. */
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
function installPrograms(programs: readonly Program[]): string | null {
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

endWith(await main(process.argv.slice(2)));

async function main([name = "", ...args]: readonly string[]): Promise<number> {
  if (name === "area") return await area(args);
  const phases = TIERS[name];
  if (phases === undefined) return misused(`there is no tier "${name}": ${Object.keys(TIERS).join(", ")}`);
  if (args.length > 0)
    return await run([[[{ name: "files", run: ["vitest", "run", ...projectsOf(phases), ...args] }]]]);
  return await run(phases, name === "release");
}

/** The first step of an area takes the arguments: its tool knows them. */
async function area([name = "", ...args]: readonly string[]): Promise<number> {
  const [first, ...rest] = AREAS[name] ?? [];
  if (first === undefined) return misused(`there is no area "${name}": ${Object.keys(AREAS).join(", ")}`);
  const given = { ...first, run: [...first.run, ...args] };
  return await run([[args.length > 0 ? [given] : [given, ...rest]]]);
}

function projectsOf(phases: readonly Phase[]): readonly string[] {
  const words = phases.flat(2).flatMap((step) => step.run);
  return words.flatMap((word, at) => (word === "--project" ? [word, words[at + 1] ?? ""] : []));
}

async function run(phases: readonly Phase[], goOn = false): Promise<number> {
  const missing = installPrograms([...new Set(phases.flat(2).flatMap((step) => step.needs ?? []))]);
  if (missing !== null) return misused(`programs are missing, and only root can install them here: ${missing}`);
  const folder = mkdtempSync(join(tmpdir(), "gateway-tier-"));
  try {
    const report = join(folder, "report");
    const steps = await runPhases(phases, folder, { TEST_REPORT: report }, goOn);
    process.stdout.write(`\n${summary(steps, readReports(report))}\n`);
    return steps.every(({ outcome }) => outcome !== "FAILED") ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function misused(why: string): number {
  process.stderr.write(`${why}\n`);
  return 2;
}
