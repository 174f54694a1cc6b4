/**
 * The control service as a process, on a given database and key-value store. Its analytics store has an address where no
 * server listens.
 */
import { CONTROL_ARGS } from "../../infra/local/control.ts";
import { startProgram } from "./program-process.ts";

export const PROCESS_TOKEN = "token";

export type ControlProcess = Awaited<ReturnType<typeof startControlProcess>>;

interface ProcessOptions {
  readonly databaseUrl: string;
  /** The key-value store's address, for {@link PROCESS_TOKEN}. */
  readonly storeUrl: string;
  /** The address of its cell; without one, no server listens there. */
  readonly cellUrl?: string;
  readonly more?: Readonly<Record<string, string>>;
  readonly heapMib?: number;
}

/** Starts the process and waits until it listens. Throws its last output when it ends instead. */
export async function startControlProcess(options: ProcessOptions) {
  const { databaseUrl, storeUrl, cellUrl = "http://127.0.0.1:9", heapMib, more } = options;
  const flags = heapMib === undefined ? [] : [`--max-old-space-size=${heapMib}`];
  const env = {
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
  };
  const program = startProgram({ command: process.execPath, args: [...flags, ...CONTROL_ARGS] }, env, "listening");
  const { admin, metrics } = (await program.ready) as Record<"admin" | "metrics", string>;
  return {
    admin,
    metrics,
    log: program.log,
    request: async (method: string, path: string, body?: string | object): Promise<Response> =>
      await fetch(`${admin}${path}`, {
        method,
        headers: { authorization: `Bearer ${PROCESS_TOKEN}` },
        ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
      }),
    end: async (): Promise<void> => void (await program.end("SIGKILL")),
  };
}
