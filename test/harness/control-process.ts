/**
 * The control service as a process, on a given database and key-value store. Its analytics store has an address where no
 * server listens.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { CONTROL_ARGS } from "../../infra/local/control.ts";

export const PROCESS_TOKEN = "token";

export type ControlProcess = Awaited<ReturnType<typeof startControlProcess>>;

interface ProcessOptions {
  readonly databaseUrl: string;
  /** The key-value store's address, for {@link PROCESS_TOKEN}. */
  readonly storeUrl: string;
  /** The address of its cell; without one, no server listens there. */
  readonly cellUrl?: string;
  /** Further variables. */
  readonly more?: Readonly<Record<string, string>>;
  /** The maximum size of its heap, in MiB. */
  readonly heapMib?: number;
}

/** Starts the process and waits until it listens. Throws its last output when it ends instead. */
export async function startControlProcess({
  databaseUrl,
  storeUrl,
  cellUrl = "http://127.0.0.1:9",
  heapMib,
  more = {},
}: ProcessOptions) {
  const flags = heapMib === undefined ? [] : [`--max-old-space-size=${heapMib}`];
  const child = spawn(process.execPath, [...flags, ...CONTROL_ARGS], {
    env: {
      NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
      GATEWAY_ADMIN_TOKEN: PROCESS_TOKEN,
      GATEWAY_ADMIN_LISTEN: "127.0.0.1:0",
      GATEWAY_METRICS_LISTEN: "127.0.0.1:0",
      GATEWAY_DATABASE_URL: databaseUrl,
      GATEWAY_REDIS_URL: storeUrl,
      GATEWAY_REDIS_TOKEN: PROCESS_TOKEN,
      GATEWAY_CLICKHOUSE_URL: "http://127.0.0.1:9",
      GATEWAY_EDGE_BASE_URL: cellUrl,
      ...more,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const lines: string[] = [];
  createInterface({ input: child.stderr }).on("line", (line) => lines.push(line));
  const first = once(createInterface({ input: child.stdout }), "line").then(([text]) => String(text));
  const ended = once(child, "exit").then(() => {
    throw new Error(`ended instead of listening: ${lines.slice(-3).join(" | ")}`);
  });
  const { admin, metrics } = JSON.parse(await Promise.race([first, ended])) as { admin: string; metrics: string };
  ended.catch(() => undefined);
  return {
    admin,
    /** The address of its metrics. */
    metrics,
    /** The lines of its log so far. */
    get log(): readonly Readonly<Record<string, unknown>>[] {
      return lines.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line) as Record<string, unknown>);
    },
    request: async (method: string, path: string, body?: string | object): Promise<Response> =>
      await fetch(`${admin}${path}`, {
        method,
        headers: { authorization: `Bearer ${PROCESS_TOKEN}` },
        ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
      }),
    end: async (): Promise<void> => await kill(child),
  };
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
}
