/**
 * Runs wrangler as a separate process, without the gateway's variables, and reads the file that it writes for programs. The
 * process has its own process group, so Ctrl-C at the terminal does not end it in the middle of a change.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { HowToRun, RunWrangler } from "./wrangler.ts";
import { type CommandResult, WranglerError } from "./wrangler-answer.ts";

/** The folder and the settings of wrangler. */
interface WranglerPlace {
  /** The path of an executable and its first arguments. */
  readonly command: readonly [string, ...string[]];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Ends the commands that it may end; they reject with its reason. */
  readonly interrupted: AbortSignal;
}

/** Variables of the gateway and its console, which wrangler has no use for. */
const OF_THE_GATEWAY = /^(GATEWAY_|DASHBOARD_|DATABASE_URL$|OIDC_)/;

/** Runs wrangler at a place. */
export function wranglerAt(place: WranglerPlace): RunWrangler {
  return async (args, how) => {
    const folder = mkdtempSync(join(tmpdir(), "gateway-wrangler-"));
    try {
      return await run(place, args, how, join(folder, "entries"));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  };
}

async function run(
  { command: [file, ...first], cwd, env, interrupted }: WranglerPlace,
  args: readonly string[],
  { stdin, account, interruptible }: HowToRun,
  entriesPath: string,
): Promise<CommandResult> {
  if (interruptible) interrupted.throwIfAborted();
  const kept = Object.entries(env).filter(([name]) => !OF_THE_GATEWAY.test(name));
  const input = stdin === undefined ? null : namelessFile(stdin);
  const child = spawn(file, [...first, ...args], {
    cwd,
    env: {
      ...Object.fromEntries(kept),
      ...(account === undefined ? {} : { CLOUDFLARE_ACCOUNT_ID: account }),
      CI: "true",
      WRANGLER_SEND_METRICS: "false",
      WRANGLER_OUTPUT_FILE_PATH: entriesPath,
    },
    stdio: [input ?? "ignore", "pipe", "pipe"],
    detached: true,
  });
  if (input !== null) closeSync(input);
  const end = (): void => endGroup(child);
  if (interruptible) interrupted.addEventListener("abort", end);
  try {
    const [stdout, stderr] = [textOf(child.stdout), textOf(child.stderr)];
    const exitCode = await new Promise<number>((resolve, reject) => {
      child.once("error", () => reject(new WranglerError("wrangler cannot be started: run `npm install`")));
      child.once("close", (code) => resolve(code ?? 1));
    });
    if (interruptible) interrupted.throwIfAborted();
    return { exitCode, stdout: await stdout, stderr: await stderr, entries: entriesIn(entriesPath) };
  } finally {
    interrupted.removeEventListener("abort", end);
  }
}

/**
 * A file that no longer has a name when the text is written to it. So nothing is left in the folder for temporary files,
 * however this process ends. It is read from the start.
 */
function namelessFile(text: string): number {
  const folder = mkdtempSync(join(tmpdir(), "gateway-stdin-"));
  let file: number;
  try {
    file = openSync(join(folder, "stdin"), "wx+", 0o600);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const bytes = Buffer.from(text);
  if (writeSync(file, bytes, 0, bytes.byteLength, 0) !== bytes.byteLength)
    throw new WranglerError("the folder for temporary files is full");
  return file;
}

/** Wrangler is a process with children. */
function endGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGTERM");
  } catch {
    // It has already ended.
  }
}

async function textOf(stream: AsyncIterable<Uint8Array> | null): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of stream ?? []) parts.push(part);
  return Buffer.concat(parts).toString("utf8");
}

function entriesIn(path: string): readonly unknown[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n").filter(Boolean);
  return lines.flatMap((line) => {
    try {
      return [JSON.parse(line) as unknown];
    } catch {
      // A line that was cut off with its process.
      return [];
    }
  });
}
