/**
 * Runs the stack of a test project in its own process, as users do. In vitest's process, which loads and transforms every test, the
 * key-value store would answer later than the Worker waits. Only {@link startStackProcess} runs this file as a program. The program
 * starts a stack with exactly the given variables, writes the log to the given file, and ends with its parent.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { type Stack, type StackOptions, startStack } from "../../infra/local/stack.ts";

type StackAddresses = Pick<
  Stack,
  "proxyUrl" | "adminUrl" | "metricsUrl" | "adminToken" | "internalToken" | "dashboard"
>;

interface StackProcess extends StackAddresses {
  stop(): Promise<void>;
}

/** Starts a stack with these variables. Throws when it does not start; its last words are on standard error. */
export async function startStackProcess(env: Readonly<Record<string, string>>, logFile: string): Promise<StackProcess> {
  // As an argument: what the shell of a developer has set is not for this stack.
  const child = fork(import.meta.filename, [logFile, JSON.stringify(env)], {
    execArgv: ["--import", join(import.meta.dirname, "../../infra/local/quick-imports.mjs")],
  });
  const exited = once(child, "exit");
  const [first] = (await Promise.race([once(child, "message"), exited])) as [StackAddresses | number | null];
  if (first === null || typeof first === "number") throw new Error("the stack of the tests did not start");
  return {
    ...first,
    stop: async () => {
      if (child.connected) child.disconnect();
      const [code] = (await exited) as [number | null];
      if (code !== 0) throw new Error(`the stack of the tests did not stop in order: exit code ${code}`);
    },
  };
}

async function main(logFile: string, env: StackOptions["env"]): Promise<void> {
  const parentGone = once(process, "disconnect");
  const log = createWriteStream(logFile);
  const stack = await startStack({ env, log: (line) => void log.write(`${line}\n`) });
  const { proxyUrl, adminUrl, metricsUrl, adminToken, internalToken, dashboard } = stack;
  process.send?.({ proxyUrl, adminUrl, metricsUrl, adminToken, internalToken, dashboard } satisfies StackAddresses);
  await parentGone;
  await stack.stop();
}

if (process.argv[1] === import.meta.filename) await main(process.argv[2] ?? "", JSON.parse(process.argv[3] ?? "{}"));
