/**
 * `wrangler dev` instead of workerd, for development of the Worker: it rebuilds on each change. It is slower, and it hides
 * disconnects; only the development command uses it. The Worker gets its variables through the environment, because every user of
 * the machine can read a command line.
 */
import { join } from "node:path";
import { makePrivate } from "../../control/db/private-folder.ts";
import { startChild } from "./process/child.ts";
import type { StartWorkerd, WorkerdOptions } from "./workerd/start.ts";

const ROOT = join(import.meta.dirname, "../..");
const WRANGLER = join(ROOT, "node_modules/wrangler/bin/wrangler.js");

/** The parts of the launcher's environment that it may need; all of its environment becomes variables of the Worker too. */
const KEPT =
  /^(PATH|HOME|USER|TMPDIR|TERM|TZ|LANG|LC_.*|CI|NO_COLOR|FORCE_COLOR|XDG_.*|SSL_CERT_FILE|NODE_EXTRA_CA_CERTS|.*_proxy|.*_PROXY|WRANGLER_.*|CLOUDFLARE_.*)$/;

/** The environment of `wrangler dev`: the variables that it needs, and those of the Worker. */
function environmentOf(bindings: Readonly<Record<string, string>>): Record<string, string | undefined> {
  const kept = Object.entries(process.env).filter(([name]) => KEPT.test(name));
  return {
    ...Object.fromEntries(kept),
    WRANGLER_SEND_METRICS: "false",
    CLOUDFLARE_INCLUDE_PROCESS_ENV: "true",
    ...bindings,
  };
}

/** The returned function starts `wrangler dev` each time it is called and resolves when it serves. */
export async function prepareWrangler(options: WorkerdOptions): Promise<StartWorkerd> {
  makePrivate(options.objectsFolder);
  return async (_role, unwanted) => {
    const child = await startChild(
      {
        name: "wrangler",
        unwanted,
        privateFiles: true,
        command: process.execPath,
        args: [
          WRANGLER,
          "dev",
          "--ip",
          "127.0.0.1",
          "--port",
          "0",
          "--inspector-port",
          "0",
          "--show-interactive-dev-session=false",
          "--persist-to",
          options.objectsFolder,
          // No file of variables replaces the environment.
          "--env-file",
          "/dev/null",
        ],
        env: environmentOf(options.bindings),
        readyFrom: "stdout",
        readReady: (line) => {
          const port = /Ready on http:\/\/[^:\s]+:(\d+)/.exec(line)?.[1];
          return port === undefined ? undefined : { port: Number(port) };
        },
        log: options.log,
        cwd: ROOT,
      },
      options.guard,
      options.startTimeoutMs,
    );
    return { child, port: Number((await child.ready)["port"]), cellPorts: new Map(), inspectorPort: null };
  };
}
