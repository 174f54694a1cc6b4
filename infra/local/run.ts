/** Runs a stack as the foreground process of a terminal or a container: prints the banner, stops on signals, exits. */
import { isAbsolute, join, relative } from "node:path";
import { DEMO_KEY_FILE } from "./demo.ts";
import { runInForeground } from "./process/foreground.ts";
import type { RuntimeKind } from "./runtime.ts";
import type { SecretName } from "./secrets.ts";
import { startStack } from "./stack.ts";
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

/** Starts the stack and stays until it is stopped (foreground.ts). Prints on standard output what stack-output.ts makes of it. */
export async function runStack(runtime: RuntimeKind, to: Terminal): Promise<never> {
  const output = stackOutput(to.isTTY === true, Date.now);
  const say = (lines: readonly string[]): void => {
    for (const line of lines) to.write(`${line}\n`);
  };
  return await runInForeground({
    start: async (unwanted) =>
      await startStack({
        env: process.env,
        log: (_, { part, text }) => say(output.part(part, text)),
        runtime,
        unwanted,
      }),
    ready: (stack) => {
      const where = (variable: string, name: SecretName): string =>
        process.env[variable]?.trim() ? variable : shownPath(join(stack.dataDir, name));
      const paths = {
        adminToken: where("GATEWAY_ADMIN_TOKEN", "admin-token"),
        consolePassword: where("DASHBOARD_PASSWORD", "console-password"),
        demoKey: shownPath(join(stack.dataDir, DEMO_KEY_FILE)),
      };
      say(output.ready(stack, paths));
    },
    stopped: () => say(output.stopped()),
  });
}
