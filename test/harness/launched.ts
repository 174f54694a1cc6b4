/**
 * A stack started as a user starts it: the launcher's entry as a process of its own, so that a test can kill it, send it
 * signals and start it again on the same folder.
 */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { stackEnv } from "./global-setup.ts";
import { type ProgramProcess, startProgram } from "./program-process.ts";

type Variables = Readonly<Record<string, string>>;

export type Launched = Awaited<ReturnType<typeof whenReady>>;

/** Starts the program of `npm start` for a test; it ends with the test at the latest. */
export function launch(dataDir: string, more: Variables = {}): ProgramProcess {
  return started(process.execPath, "infra/local/main.ts", stackEnv(dataDir, more));
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

function started(command: string, argument: string, variables: Variables): ProgramProcess {
  const { HOME, NODE_COMPILE_CACHE } = process.env;
  const program = startProgram({ command, args: [argument] }, { HOME, NODE_COMPILE_CACHE, ...variables }, "ready");
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

/** Command lines of running processes that contain a text. */
export async function processesOf(text: string): Promise<readonly string[]> {
  return (await running()).map(({ line }) => line).filter((line) => line.includes(text));
}

/** Command lines of a process and of all that it has started, and they, as far as they run. */
export async function processesBelow(pid: number): Promise<readonly string[]> {
  const all = await running();
  const below = (parent: number): readonly string[] =>
    all.flatMap((each) => (each.parent === parent ? [each.line, ...below(each.pid)] : []));
  return [...all.filter((each) => each.pid === pid).map(({ line }) => line), ...below(pid)];
}

async function running(): Promise<readonly { readonly pid: number; readonly parent: number; readonly line: string }[]> {
  const ps = spawn("ps", ["-eo", "pid=,ppid=,args="], { stdio: ["ignore", "pipe", "ignore"] });
  let listing = "";
  for await (const chunk of ps.stdout) listing += String(chunk);
  return listing.split("\n").flatMap((line) => {
    const [, pid, parent] = /^\s*(\d+)\s+(\d+)\s/.exec(line) ?? [];
    return pid === undefined ? [] : [{ pid: Number(pid), parent: Number(parent), line }];
  });
}
