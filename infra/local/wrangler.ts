/**
 * `wrangler dev` in workerd's place, for work on the Worker: it rebuilds on each change. Slower, and it hides disconnects;
 * only the development command uses it. It starts helpers of its own, so the guard watches the whole process group.
 */
import { join } from "node:path";
import { startChild } from "./child.ts";
import type { StartWorkerd, WorkerdOptions } from "./workerd/start.ts";

const ROOT = join(import.meta.dirname, "../..");
const WRANGLER = join(ROOT, "node_modules/wrangler/bin/wrangler.js");

/** The answer starts `wrangler dev` each time it is called and resolves when it serves. */
export async function prepareWrangler(options: WorkerdOptions): Promise<StartWorkerd> {
  const variables = Object.entries(options.bindings).flatMap(([name, value]) => ["--var", `${name}:${value}`]);
  return async (unwanted) => {
    const child = await startChild(
      {
        name: "wrangler",
        unwanted,
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
          ...variables,
        ],
        env: { ...process.env, WRANGLER_SEND_METRICS: "false" },
        readyFrom: "stdout",
        readReady: (line) => {
          const port = /Ready on http:\/\/[^:\s]+:(\d+)/.exec(line)?.[1];
          return port === undefined ? undefined : { port: Number(port) };
        },
        log: options.log,
        ownGroup: true,
        cwd: ROOT,
      },
      options.guard,
    );
    return { child, port: Number((await child.ready)["port"]), cellPorts: new Map(), inspectorPort: null };
  };
}
