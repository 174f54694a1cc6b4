/**
 * A stack started as a user starts it: the launcher's entry as a process of its own, so that a test can kill it, send it
 * signals and start it again on the same folder.
 */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { onTestFinished } from "vitest";
import { stackEnv } from "./global-setup.ts";
import { type ProgramProcess, startProgram } from "./program-process.ts";

type Variables = Readonly<Record<string, string>>;

export type Launched = Awaited<ReturnType<typeof whenReady>>;

/** Starts the program of `npm start` for a test; it ends with the test at the latest. */
export function launch(dataDir: string, more: Variables = {}): ProgramProcess {
  return started(process.execPath, "infra/local/main.ts", stackEnv(dataDir, more));
}

/** Starts it as a terminal does: in a process group of its own. */
export function launchGroup(dataDir: string): ProgramProcess {
  return started(process.execPath, "infra/local/main.ts", stackEnv(dataDir), true);
}

/** Starts the program of `npm run dev` in the same way. */
export function launchDev(dataDir: string, more: Variables = {}): ProgramProcess {
  return started(process.execPath, "infra/local/dev.ts", stackEnv(dataDir, more));
}

/** Starts the program of `npm run provisioner`, which gets these variables alone. */
export function launchProvisioner(variables: Variables): ProgramProcess {
  return started(process.execPath, "control/provisioner/main.ts", variables);
}

export function launchWithNpm(dataDir: string): ProgramProcess {
  return started("npm", "start", stackEnv(dataDir));
}

function started(command: string, argument: string, variables: Variables, ownGroup = false): ProgramProcess {
  const { HOME, NODE_COMPILE_CACHE } = process.env;
  const env = { HOME, NODE_COMPILE_CACHE, ...variables };
  const program = startProgram({ command, args: [argument] }, env, "ready", ownGroup);
  // a test that fails must leave no running stack
  onTestFinished(async () => void (await program.end("SIGKILL")));
  return program;
}

/** Starts it and waits until it says that it is ready. */
export async function launchReady(dataDir: string, more: Variables = {}): Promise<Launched> {
  return await whenReady(launch(dataDir, more), dataDir);
}

/** The running stack that a started process reports. Throws its last lines when it ends instead. */
export async function whenReady(program: ProgramProcess, dataDir: string) {
  const reported = (await program.ready) as Variables;
  const address = (field: string): string => new URL(reported[field] ?? "").origin;
  return {
    ...program,
    proxyUrl: address("data_plane"),
    adminUrl: address("management_api"),
    metricsUrl: address("metrics"),
    adminToken: readFileSync(join(dataDir, "admin-token"), "utf8").trim(),
  };
}

/** Command lines of running processes that contain a text; of `which` "axeww" with their environments. */
export async function processesOf(text: string, which: "-e" | "axeww" = "-e"): Promise<readonly string[]> {
  return (await running(which)).map(({ line }) => line).filter((line) => line.includes(text));
}

/** The processes that a process, or one that it has started, has started with a text in their command line. */
export async function pidsBelow(pid: number, text: string): Promise<readonly number[]> {
  return below(await running(), pid).flatMap((each) => (each.line.includes(text) ? each.pid : []));
}

/** Command lines of a process and of all that it has started, and they, as far as they run. */
export async function processesBelow(pid: number): Promise<readonly string[]> {
  const all = await running();
  return [...all.filter((each) => each.pid === pid), ...below(all, pid)].map(({ line }) => line);
}

interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly line: string;
}

function below(all: readonly Process[], parent: number): readonly Process[] {
  return all.flatMap((each) => (each.parent === parent ? [each, ...below(all, each.pid)] : []));
}

async function running(which = "-e"): Promise<readonly Process[]> {
  const { stdout } = await promisify(execFile)("ps", [which, "-o", "pid=,ppid=,args="], { maxBuffer: 2 ** 26 });
  return stdout.split("\n").flatMap((line) => {
    const [, pid, parent] = /^\s*(\d+)\s+(\d+)\s/.exec(line) ?? [];
    return pid === undefined ? [] : [{ pid: Number(pid), parent: Number(parent), line }];
  });
}
