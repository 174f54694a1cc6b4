/**
 * A stack started as a user starts it: the launcher's entry as a process of its own, so that a test can kill it, send it
 * signals and start it again on the same folder.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { stackEnv } from "./global-setup.ts";
import { waitFor } from "./wait-for.ts";

const ROOT = join(import.meta.dirname, "../..");

export type Launched = Awaited<ReturnType<typeof whenReady>>;

interface Starting {
  readonly process: ChildProcess;
  readonly output: () => string;
  readonly exited: Promise<number | null>;
}

/** Starts the program of `npm start` for a test; it ends with the test at the latest. */
export function launch(dataDir: string, more: Readonly<Record<string, string>> = {}): Starting {
  return spawned(process.execPath, [join(ROOT, "infra/local/main.ts")], stackEnv(dataDir, more));
}

/** Starts the program of `npm run dev` in the same way. */
export function launchDev(dataDir: string, more: Readonly<Record<string, string>> = {}): Starting {
  return spawned(process.execPath, [join(ROOT, "infra/local/dev.ts")], stackEnv(dataDir, more));
}

/** Starts the program of `npm run provisioner`, which gets these variables alone. */
export function launchProvisioner(variables: Readonly<Record<string, string>>): Starting {
  return spawned(process.execPath, [join(ROOT, "control/provisioner/main.ts")], variables);
}

export function launchWithNpm(dataDir: string): Starting {
  return spawned("npm", ["start"], stackEnv(dataDir));
}

function spawned(command: string, args: readonly string[], variables: Readonly<Record<string, string>>): Starting {
  const child = spawn(command, args, {
    cwd: ROOT,
    env: {
      PATH: process.env["PATH"],
      HOME: process.env["HOME"],
      NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
      ...variables,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  const exited = new Promise<number | null>((resolve) => child.on("close", (code) => resolve(code)));
  // a test that fails must leave no running stack
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await exited;
  });
  return { process: child, output: () => output, exited };
}

/** Starts it and waits until it says that it is ready. */
export async function launchReady(dataDir: string, more: Readonly<Record<string, string>> = {}): Promise<Launched> {
  return await whenReady(launch(dataDir, more), dataDir);
}

/** The running stack that a started process reports. Throws its output when it ends instead. */
export async function whenReady({ process: child, output, exited }: Starting, dataDir: string) {
  let ended = false;
  void exited.then(() => {
    ended = true;
  });
  await waitFor(output, (text) => ended || /The gateway is ready\..*\n/.test(text));
  if (ended) throw new Error(`the stack ended: ${output()}`);
  const ready = output()
    .split("\n")
    .find((line) => line.includes("The gateway is ready."));
  const reported = JSON.parse(ready ?? "{}") as Readonly<Record<string, string>>;
  const address = (field: string): string => new URL(reported[field] ?? "").origin;
  return {
    process: child,
    proxyUrl: address("data_plane"),
    adminUrl: address("management_api"),
    metricsUrl: address("metrics"),
    adminToken: readFileSync(join(dataDir, "admin-token"), "utf8").trim(),
    /** All output so far. */
    output,
    /** Sends a signal and waits for the end; returns the exit code, null when it was killed. */
    end: async (signal: NodeJS.Signals): Promise<number | null> => {
      child.kill(signal);
      return await exited;
    },
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
