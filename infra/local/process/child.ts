/**
 * Child processes of the stack: the guard knows each of them, a ready line says when they work, and they are stopped with
 * SIGTERM and, after a grace time, with SIGKILL. Each has its own process group, so signals of a terminal to the launcher do
 * not reach it. A child never lives longer than the launcher, not even after kill -9 of the launcher.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";

/** Knows every child that must not live longer than the launcher. */
export interface Guard {
  watch(pid: number): void;
  forget(pid: number): void;
  /** Ends the guard; call it only after every child has ended. */
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
  input.on("error", () => undefined); // A guard that was killed must not end this process.
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
  /** Where its ready line comes: on standard output, or on descriptor 3. */
  readonly readyFrom: "stdout" | "control";
  /** Reads a line; a result other than undefined means ready, and is the value of `ready`. */
  readonly readReady: (line: string) => Readonly<Record<string, unknown>> | undefined;
  /** Called with its other lines. */
  readonly log: (line: string) => void;
  /** Only the owner may read files that it makes; for programs that have no setting for that. */
  readonly privateFiles?: boolean;
  /** Descriptors of listening sockets, by name, which it is handed as a service manager does (handed-sockets.ts). */
  readonly sockets?: ReadonlyMap<string, number>;
  readonly cwd?: string;
  /** Aborts when the child is no longer needed: until it is ready, this kills it. */
  readonly unwanted?: AbortSignal | undefined;
}

/** A running child. */
export interface Child {
  readonly pid: number;
  /**
   * The content of its ready line. Rejects with its last line of output when it ends before, and when it takes longer than
   * `readyMs`: then it is killed, and it has ended when this rejects, so that a second one can use its ports and files.
   */
  readonly ready: Promise<Readonly<Record<string, unknown>>>;
  /** Resolves with the reason when the process has ended. Never rejects. */
  readonly exited: Promise<string>;
  /** Sends SIGTERM, then SIGKILL after the grace time; resolves when the process has ended. */
  stop(graceMs: number): Promise<void>;
  /** Sends SIGKILL, for a process that no longer answers; {@link exited} resolves when it has ended. */
  kill(): void;
}

/** A shell that runs `first` and is replaced by the program, so that no process is added. */
const after = (first: string): readonly string[] => ["/bin/sh", "-c", `${first}; exec "$@"`, "sh"];

function stdioFor({ readyFrom, sockets = new Map() }: ChildSpec): ("ignore" | "pipe" | "ipc" | number)[] {
  // Our own scripts end when the channel closes.
  return [
    "ignore",
    "pipe",
    "pipe",
    ...(readyFrom === "control" ? (["pipe"] as const) : [...sockets.values(), "ipc" as const]),
  ];
}

/** The variables that describe the sockets, except the pid, which is not known before. */
function socketVariables(sockets: ReadonlyMap<string, number>): Readonly<Record<string, string>> {
  if (sockets.size === 0) return {};
  return { LISTEN_FDS: String(sockets.size), LISTEN_FDNAMES: [...sockets.keys()].join(":") };
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
    // The process has already ended.
  }
}

/** Starts a child. Rejects when the program cannot be started at all. */
export async function startChild(spec: ChildSpec, guard: Guard, readyMs = 300_000): Promise<Child> {
  const { sockets = new Map() } = spec;
  const [command = "", ...args] = [
    ...(spec.privateFiles ? after("umask 077") : []),
    ...(sockets.size > 0 ? after("export LISTEN_PID=$$") : []),
    spec.command,
    ...spec.args,
  ];
  const child: ChildProcess = spawn(command, args, {
    stdio: stdioFor(spec),
    env: { ...spec.env, ...socketVariables(sockets) } as NodeJS.ProcessEnv,
    cwd: spec.cwd,
    detached: true,
  });
  await once(child, "spawn").catch((error: Error) => {
    throw new Error(`${spec.name} cannot be started: ${error.message}`);
  });
  const pid = child.pid as number;
  const target = -pid;
  guard.watch(target);
  child.on("error", () => undefined); // Sending to a child that has just ended fails.

  let lastWords = "";
  const exited = new Promise<string>((resolve) => {
    child.once("close", (code, killedBy) => {
      guard.forget(target);
      const how = killedBy === null ? `ended with code ${code}` : `was ended by ${killedBy}`;
      resolve(lastWords === "" ? how : `${how}: ${lastWords}`);
    });
  });
  const { promise: ready, resolve, reject } = Promise.withResolvers<Readonly<Record<string, unknown>>>();
  ready.catch(() => undefined); // The caller that needs the result awaits it.
  let givenUp: string | undefined;
  const giveUp = (why: string) => {
    givenUp = why;
    signal(target, "SIGKILL");
  };
  const unwanted = () => giveUp("was stopped before it was ready");
  const late = setTimeout(
    () => giveUp(`was not ready after ${readyMs / 1000} s (GATEWAY_START_TIMEOUT_SECS)`),
    readyMs,
  );
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
