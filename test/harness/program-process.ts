/** Programs of this repository, or of an image of it, as processes of their own that a test can signal and kill. */
import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
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

/** A process whose output is kept. It is ready at the first line from which `readReady` reads something. */
export function startProcess<T>(
  command: string,
  args: readonly string[],
  options: SpawnOptions,
  readReady: (line: string) => T | undefined,
) {
  const child: ChildProcess = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"], ...options });
  const lines: string[] = [];
  const exited = once(child, "close").then(([code]) => code as number | null);
  const { promise: ready, resolve, reject } = Promise.withResolvers<T>();
  ready.catch(() => undefined);
  void exited.then(() => reject(new Error(`the program ended: ${lines.slice(-15).join(" | ")}`)));
  for (const stream of [child.stdout, child.stderr])
    if (stream !== null)
      createInterface({ input: stream }).on("line", (line) => {
        lines.push(line);
        const read = readReady(line);
        if (read !== undefined) resolve(read);
      });
  return {
    pid: child.pid ?? 0,
    lines: lines as readonly string[],
    /** What says that it is ready. Rejects with its last lines when it ends instead. */
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
  const program = startProcess(
    command,
    args,
    {
      cwd: ROOT,
      env: { PATH: process.env["PATH"], ...env, ...own },
      stdio: [ownGroup ? "pipe" : "ignore", "pipe", "pipe"],
      detached: ownGroup,
    },
    (line) => {
      const message = jsonLine(line);
      return message?.["event"] === event ? message : undefined;
    },
  );
  const log = () => program.lines.map(jsonLine).filter((message) => message !== undefined);
  return { ...program, log };
}
