/**
 * A stack started as a user starts it: the launcher's entry as a process of its own, so that it can be killed, signalled
 * and started again on the same folder.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { stackEnv } from "./global-setup.ts";
import { waitFor } from "./wait-for.ts";

const ROOT = join(import.meta.dirname, "../..");

interface Launched {
  readonly process: ChildProcess;
  readonly proxyUrl: string;
  readonly adminUrl: string;
  readonly metricsUrl: string;
  readonly adminToken: string;
  /** Everything printed so far. */
  readonly output: () => string;
  /** Sends a signal and waits for the end; answers the exit code, null when it was killed. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

interface Starting {
  readonly process: ChildProcess;
  readonly output: () => string;
  readonly exited: Promise<number | null>;
}

/** Starts `npm start`'s program within a test, whose end is its own at the latest. */
export function launch(dataDir: string, more: Readonly<Record<string, string>> = {}): Starting {
  return spawned(process.execPath, [join(ROOT, "infra/local/main.ts")], stackEnv(dataDir, more));
}

/** Starts `npm run dev`'s program in the same way. */
export function launchDev(dataDir: string, more: Readonly<Record<string, string>> = {}): Starting {
  return spawned(process.execPath, [join(ROOT, "infra/local/dev.ts")], stackEnv(dataDir, more));
}

/** Types `npm start`. */
export function launchWithNpm(dataDir: string): Starting {
  return spawned("npm", ["start"], stackEnv(dataDir));
}

function spawned(command: string, args: readonly string[], variables: Readonly<Record<string, string>>): Starting {
  const child = spawn(command, args, {
    cwd: ROOT,
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"], ...variables },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  const exited = new Promise<number | null>((resolve) => child.on("close", (code) => resolve(code)));
  // a test that fails leaves no stack behind
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

/** The running stack of something that was started. Throws what it printed when it ends instead. */
export async function whenReady({ process: child, output, exited }: Starting, dataDir: string): Promise<Launched> {
  let ended = false;
  void exited.then(() => {
    ended = true;
  });
  await waitFor(output, (text) => ended || /The gateway is ready\..*\n/.test(text), 60_000);
  if (ended) throw new Error(`the stack ended: ${output()}`);
  const ready = output()
    .split("\n")
    .find((line) => line.includes("The gateway is ready."));
  const told = JSON.parse(ready ?? "{}") as Readonly<Record<string, string>>;
  const address = (field: string): string => new URL(told[field] ?? "").origin;
  return {
    process: child,
    proxyUrl: address("data_plane"),
    adminUrl: address("management_api"),
    metricsUrl: address("metrics"),
    adminToken: readFileSync(join(dataDir, "admin-token"), "utf8").trim(),
    output,
    end: async (signal) => {
      child.kill(signal);
      return await exited;
    },
  };
}

/** Command lines of living processes that mention a text. */
export async function processesOf(text: string): Promise<readonly string[]> {
  const ps = spawn("ps", ["-eo", "pid=,args="], { stdio: ["ignore", "pipe", "ignore"] });
  let listing = "";
  for await (const chunk of ps.stdout) listing += String(chunk);
  return listing.split("\n").filter((line) => line.includes(text));
}
