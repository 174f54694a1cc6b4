/**
 * Areas that a machine may be unable to run. With `--where-possible` that is no failure but a line that says why. They need root and
 * Debian's packages, and run tests in namespaces of their own.
 */
import { type ChildProcess, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { SKIPPED } from "./run-phases.ts";

export const isOptional = process.argv.includes("--where-possible");
/** The arguments of the program without `--where-possible`. */
export const areaArgs: readonly string[] = process.argv.slice(2).filter((arg) => arg !== "--where-possible");

/** The command that runs the tests of a project of vitest. */
export function vitestOf(project: string, args: readonly string[]): readonly [string, ...string[]] {
  const vitest = join(import.meta.dirname, "../../node_modules/vitest/vitest.mjs");
  return [process.execPath, vitest, "run", "--project", project, ...args];
}

/** Waits for its child and for what the child leaves behind, as the first process of its kind has to. */
export const FIRST_PROCESS = ["bash", "-c", '"$@"; exit $?', "bash"] as const;
export const DEBIAN_RELEASE = "trixie";
/** What is not done by then has hung. */
const COMMAND_MS = 10 * 60_000;

/** Why a machine cannot run the area: it is not root on Debian, or the command that tries a mount fails. Null when it can. */
export function areaObstacle(...mounting: readonly [string, ...string[]]): string | null {
  if (process.getuid?.() !== 0) return "needs root";
  if (!existsSync("/etc/debian_version")) return "needs Debian's packages";
  const [command, ...args] = mounting;
  return spawnSync(command, args).status === 0 ? null : "needs to mount, which this machine does not allow";
}

/** Says why the area cannot be run; returns the exit code. `what`: the line's beginning where that is a failure. */
export function refuseArea(what: string, reason: string): number {
  process.stdout.write(`${isOptional ? "skipped" : what}: ${reason}\n`);
  return isOptional ? SKIPPED : 1;
}

/** The message of what `work` throws; null when it throws nothing. */
export function failureOf(work: () => void): string | null {
  try {
    work();
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** The exit code of a child, which is killed after `limitMs` and when this process is told to end. */
export async function exitCodeOf(child: ChildProcess, limitMs: number): Promise<number> {
  const kill = (): void => void child.kill("SIGKILL");
  const timer = setTimeout(kill, limitMs);
  const ends = ["SIGINT", "SIGTERM", "SIGHUP", "disconnect"];
  for (const event of ends) process.on(event, kill);
  const [code] = (await once(child, "exit")) as [number | null];
  for (const event of ends) process.off(event, kill);
  clearTimeout(timer);
  if (code === null) process.stderr.write("the tests were ended before they were done\n");
  return code ?? 1;
}

/** Runs a command; returns what it prints. Throws what it says when it fails. */
export function must(command: string, ...args: readonly string[]): string {
  const { status, stderr, stdout, error } = spawnSync(command, args, {
    encoding: "utf8",
    timeout: COMMAND_MS,
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status === 0) return stdout.trim();
  const said = error?.message ?? (stderr || stdout).slice(-1_000);
  throw new Error(`${command} ${args.join(" ")} failed: ${said}`);
}

/** Installs Debian's packages of these names on this machine, where there is no program of the name. */
export function installTools(...tools: readonly string[]): void {
  const missing = tools.filter((tool) => spawnSync("which", [tool]).status !== 0);
  if (missing.length === 0) return;
  // The list of packages may be too old, or not there.
  must("apt-get", "update", "-qq");
  must("apt-get", "install", "-y", "-qq", "--no-install-recommends", ...missing);
}

/** Where this machine has its packages from. */
export function debianMirror(): string {
  const policy = spawnSync("apt-cache", ["policy"], { encoding: "utf8" }).stdout;
  const mirrors = [...policy.matchAll(/(https?:\/\/\S+) [a-z]+\/main/g)].map(([, url]) => url ?? "");
  return mirrors.find((url) => !url.includes("security")) ?? "http://deb.debian.org/debian";
}
