/** Runs a stack as the foreground process of a terminal or a container: prints the banner, stops on signals, exits. */
import { isAbsolute, join, relative } from "node:path";
import { terminalText } from "../../shared/printable.ts";
import { DEMO_KEY_FILE } from "./demo.ts";
import { watchParent } from "./process/watch-parent.ts";
import type { RuntimeKind } from "./runtime.ts";
import type { SecretName } from "./secrets.ts";
import { type Stack, startStack } from "./stack.ts";
import { stackOutput } from "./stack-output.ts";

/** Where lines are printed: standard output. */
interface Terminal {
  /** It is a terminal, before which somebody sits. */
  readonly isTTY?: boolean | undefined;
  write(text: string): unknown;
}

function shownPath(path: string): string {
  const short = relative(process.cwd(), path);
  return short.startsWith("..") || isAbsolute(short) ? path : short;
}

/**
 * Starts the stack and stays until it is stopped. Exit code 1 with one line on standard error when it cannot start or
 * comes down by itself; a signal stops everything first. Prints on standard output what stack-output.ts makes of it.
 */
export async function runStack(runtime: RuntimeKind, to: Terminal): Promise<never> {
  const output = stackOutput(to.isTTY === true, Date.now);
  const say = (lines: readonly string[]): void => {
    for (const line of lines) to.write(`${line}\n`);
  };
  let stack: Stack | undefined;
  let asked = false;
  const stop = () => {
    asked = true;
    void stack?.stop();
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, stop);
  if (process.connected) watchParent(stop);
  try {
    stack = await startStack({ env: process.env, log: (_, { part, text }) => say(output.part(part, text)), runtime });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    process.stderr.write(`gateway: ${terminalText(message.split("\n")[0] ?? "")}\n`);
    process.exit(1);
  }
  if (!asked) {
    const { dataDir } = stack;
    const where = (variable: string, name: SecretName): string =>
      process.env[variable]?.trim() ? variable : shownPath(join(dataDir, name));
    const paths = {
      adminToken: where("GATEWAY_ADMIN_TOKEN", "admin-token"),
      consolePassword: where("DASHBOARD_PASSWORD", "console-password"),
      demoKey: shownPath(join(stack.dataDir, DEMO_KEY_FILE)),
    };
    say(output.ready(stack, paths));
  } else {
    void stack.stop();
  }
  const gaveUp = await stack.closed;
  if (gaveUp !== null) {
    process.stderr.write(`gateway: ${terminalText(`${gaveUp.part} cannot be kept running: ${gaveUp.reason}`)}\n`);
    process.exit(1);
  }
  say(output.stopped());
  // an orderly stop on request is a success, as it is for other servers
  process.exit(0);
}
