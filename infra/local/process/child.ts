/**
 * Child processes of the stack: started under the guard's eye, ready when they say so, stopped with SIGTERM and, after a
 * grace, SIGKILL. A child never outlives the launcher, not even after kill -9 of it.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";

/** Told of every child that must not outlive the launcher. */
export interface Guard {
  watch(pid: number): void;
  forget(pid: number): void;
  /** Ends the guard; only after every child is gone. */
  close(): void;
}

/** Starts the guard process. */
export function startGuard(): Guard {
  const child = spawn(process.execPath, [join(import.meta.dirname, "guard.ts")], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  child.unref();
  const input = child.stdin;
  input.on("error", () => undefined); // a guard that was killed takes nothing down with it
  (input as Writable & { unref?: () => void }).unref?.();
  return {
    watch: (pid) => input.write(`+${pid}\n`),
    forget: (pid) => input.write(`-${pid}\n`),
    close: () => input.end(),
  };
}

/** How to start one child. */
export interface ChildSpec {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where its "I am ready" line comes: standard output, or descriptor 3. */
  readonly readyFrom: "stdout" | "control";
  /** Reads a line; anything but undefined means ready, and is the answer of `ready`. */
  readonly readReady: (line: string) => Readonly<Record<string, unknown>> | undefined;
  /** Its other lines. */
  readonly log: (line: string) => void;
  /** It starts processes of its own: it gets a process group, which is signalled and guarded as one. */
  readonly ownGroup?: boolean;
  /** Files that it makes are for their owner alone; for programs that have no setting for that. */
  readonly privateFiles?: boolean;
  readonly cwd?: string;
  /** Nobody waits for it any longer: until it is ready, this kills it. */
  readonly unwanted?: AbortSignal | undefined;
}

/** A running child. */
export interface Child {
  readonly pid: number;
  /**
   * What its ready line said. Rejects with its last words when it ends before, and when it takes longer than `readyMs`: it
   * is killed then, and gone when this rejects, so that a second one can take its ports and files.
   */
  readonly ready: Promise<Readonly<Record<string, unknown>>>;
  /** Resolves with the reason when the process has ended. Never rejects. */
  readonly exited: Promise<string>;
  /** SIGTERM, then SIGKILL after the grace; resolves when it is gone. */
  stop(graceMs: number): Promise<void>;
  /** SIGKILL, for a process that no longer answers; {@link exited} says when it is gone. */
  kill(): void;
}

const READY_MS = 60_000;

/** The shell becomes the program: no process is added. */
const WITH_UMASK = ["/bin/sh", "-c", 'umask 077; exec "$@"', "sh"];

function stdioFor(spec: ChildSpec): ("ignore" | "pipe" | "ipc")[] {
  // our own scripts end when the channel closes
  return ["ignore", "pipe", "pipe", spec.readyFrom === "control" ? "pipe" : "ipc"];
}

/** A line of JSON as an object; undefined for any other line. */
export function jsonLine(line: string): Readonly<Record<string, unknown>> | undefined {
  if (!line.startsWith("{")) return undefined;
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function signal(target: number, name: NodeJS.Signals): void {
  try {
    process.kill(target, name);
  } catch {
    // already gone
  }
}

/** Starts a child. Rejects when the program cannot be started at all. */
export async function startChild(spec: ChildSpec, guard: Guard, readyMs = READY_MS): Promise<Child> {
  const [command = "", ...args] = spec.privateFiles
    ? [...WITH_UMASK, spec.command, ...spec.args]
    : [spec.command, ...spec.args];
  const child: ChildProcess = spawn(command, args, {
    stdio: stdioFor(spec),
    env: spec.env as NodeJS.ProcessEnv,
    cwd: spec.cwd,
    detached: spec.ownGroup ?? false,
  });
  await once(child, "spawn").catch((error: Error) => {
    throw new Error(`${spec.name} cannot be started: ${error.message}`);
  });
  const pid = child.pid as number;
  const target = spec.ownGroup ? -pid : pid;
  guard.watch(target);
  child.on("error", () => undefined); // sending to a child that just ended

  let lastWords = "";
  const exited = new Promise<string>((resolve) => {
    child.once("close", (code, killedBy) => {
      guard.forget(target);
      const how = killedBy === null ? `ended with code ${code}` : `was ended by ${killedBy}`;
      resolve(lastWords === "" ? how : `${how}: ${lastWords}`);
    });
  });
  const { promise: ready, resolve, reject } = Promise.withResolvers<Readonly<Record<string, unknown>>>();
  ready.catch(() => undefined); // whoever needs it awaits it
  let givenUp: string | undefined;
  const giveUp = (why: string) => {
    givenUp = why;
    signal(target, "SIGKILL");
  };
  const unwanted = () => giveUp("was stopped before it was ready");
  const late = setTimeout(() => giveUp(`was not ready after ${readyMs / 1000} s`), readyMs);
  spec.unwanted?.addEventListener("abort", unwanted, { once: true });
  if (spec.unwanted?.aborted === true) unwanted();
  void exited.then((reason) =>
    reject(new Error(givenUp === undefined ? lastWords || `${spec.name} ${reason}` : `${spec.name} ${givenUp}`)),
  );
  const noLonger = () => {
    clearTimeout(late);
    spec.unwanted?.removeEventListener("abort", unwanted);
  };
  void ready.then(noLonger, noLonger);

  const lines = (stream: unknown, read: (line: string) => void) => {
    if (stream) createInterface({ input: stream as Readable }).on("line", read);
  };
  const readFor = (place: "stdout" | "control") => (line: string) => {
    const answer = spec.readyFrom === place ? spec.readReady(line) : undefined;
    if (answer === undefined) spec.log(line);
    else resolve(answer);
  };
  lines(child.stdout, readFor("stdout"));
  if (spec.readyFrom === "control") lines(child.stdio[3], readFor("control"));
  lines(child.stderr, (line) => {
    if (line.trim() !== "") lastWords = line;
    spec.log(line);
  });

  return {
    pid,
    ready,
    exited,
    stop: async (graceMs) => {
      signal(target, "SIGTERM");
      const kill = setTimeout(() => signal(target, "SIGKILL"), graceMs);
      await exited;
      clearTimeout(kill);
    },
    kill: () => signal(target, "SIGKILL"),
  };
}
