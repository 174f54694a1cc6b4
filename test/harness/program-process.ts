/** Programs of this repository, or of an image of it, as processes of their own that a test can signal and kill. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { jsonLine } from "../../infra/local/process/child.ts";

const ROOT = join(import.meta.dirname, "../..");

/** A command, its arguments, and the variables that it needs in addition to those of every place. */
export interface ProgramCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export type ProgramProcess = ReturnType<typeof startProgram>;

/**
 * Starts a process that is ready when it prints a line of JSON with this event. `ownGroup`: it can be signalled with all that it has
 * started, and has an input that ends with this process.
 */
export function startProgram(
  { command, args, env: own = {} }: ProgramCommand,
  env: NodeJS.ProcessEnv,
  event: string,
  ownGroup = false,
) {
  const child: ChildProcess = spawn(command, args, {
    cwd: ROOT,
    env: { PATH: process.env["PATH"], ...env, ...own },
    stdio: [ownGroup ? "pipe" : "ignore", "pipe", "pipe"],
    detached: ownGroup,
  });
  const lines: string[] = [];
  const exited = once(child, "close").then(([code]) => code as number | null);
  const { promise: ready, resolve, reject } = Promise.withResolvers<Readonly<Record<string, unknown>>>();
  ready.catch(() => undefined);
  void exited.then(() => reject(new Error(`the program ended: ${lines.slice(-5).join(" | ")}`)));
  for (const stream of [child.stdout, child.stderr])
    if (stream !== null)
      createInterface({ input: stream }).on("line", (line) => {
        lines.push(line);
        const message = jsonLine(line);
        if (message?.["event"] === event) resolve(message);
      });
  return {
    pid: child.pid ?? 0,
    /** What it has printed. */
    lines: lines as readonly string[],
    /** The lines of its log so far. */
    log: () => lines.map(jsonLine).filter((message) => message !== undefined),
    /** The line with which it said that it is ready. Rejects with its last lines when it ends instead. */
    ready,
    /** Its exit code; null when it was killed. */
    exited,
    /** Sends a signal and waits for the end; resolves with the exit code. */
    end: async (signal: NodeJS.Signals = "SIGTERM"): Promise<number | null> => {
      child.kill(signal);
      return await exited;
    },
  };
}
