/** Runs a stack as the foreground process of a terminal or a container: prints the banner, stops on signals, exits. */
import { isAbsolute, join, relative } from "node:path";
import { terminalText } from "../../shared/printable.ts";
import { bannerLines } from "./banner.ts";
import { DEMO_KEY_FILE } from "./demo.ts";
import { watchParent } from "./process/watch-parent.ts";
import type { RuntimeKind } from "./runtime.ts";
import { type Stack, startStack } from "./stack.ts";

function shownPath(path: string): string {
  const short = relative(process.cwd(), path);
  return short.startsWith("..") || isAbsolute(short) ? path : short;
}

/**
 * Starts the stack and stays until it is stopped. Exit code 1 with one line on standard error when it cannot start or
 * comes down by itself; a signal stops everything first. `say` prints a line on standard output.
 */
export async function runStack(runtime: RuntimeKind, say: (line: string) => void): Promise<never> {
  let stack: Stack | undefined;
  let asked = false;
  const stop = () => {
    asked = true;
    void stack?.stop();
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, stop);
  if (process.connected) watchParent(stop);
  try {
    stack = await startStack({ env: process.env, log: say, runtime });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    process.stderr.write(`gateway: ${terminalText(message.split("\n")[0] ?? "")}\n`);
    process.exit(1);
  }
  if (!asked) {
    const paths = {
      adminToken: process.env["GATEWAY_ADMIN_TOKEN"]
        ? "GATEWAY_ADMIN_TOKEN"
        : shownPath(join(stack.dataDir, "admin-token")),
      demoKey: shownPath(join(stack.dataDir, DEMO_KEY_FILE)),
    };
    for (const line of bannerLines(stack, paths)) say(terminalText(line));
  } else {
    void stack.stop();
  }
  const gaveUp = await stack.closed;
  if (gaveUp !== null) {
    process.stderr.write(`gateway: ${terminalText(`${gaveUp.part} cannot be kept running: ${gaveUp.reason}`)}\n`);
    process.exit(1);
  }
  say("The gateway has stopped.");
  // an orderly stop on request is a success, as it is for other servers
  process.exit(0);
}
