/**
 * The Worker of the stack: its variables, and a supervised runtime that executes it - plain workerd, or `wrangler dev` while
 * somebody works on it. The runtime's port changes with each start; the front asks for it.
 */
import { join } from "node:path";
import { envCells } from "../../shared/cells.ts";
import type { Endpoint, StackContext } from "./context.ts";
import { StackEnvError } from "./env.ts";
import { RUNTIME_LIVENESS } from "./liveness.ts";
import type { RunningClickhouse } from "./stores.ts";
import { type HealthCheck, type Supervised, supervise } from "./supervisor.ts";
import { prepareWorkerd, type RunningWorkerd, type StartWorkerd, type WorkerdOptions } from "./workerd/start.ts";
import { prepareWrangler } from "./wrangler.ts";

/** Variables that are handed to the Worker as they are. */
const PASSED_ON = [
  "GATEWAY_CELL",
  "GATEWAY_CELLS",
  "GATEWAY_CLICKHOUSE_DB",
  "GATEWAY_API_KEY_PEPPER",
  "GATEWAY_ENCRYPTION_KEY",
  "GATEWAY_UPSTREAM_BASE_URL",
  "GATEWAY_UPSTREAM_TIMEOUT_SECS",
  "GATEWAY_STALLED_READER_SECS",
  "GATEWAY_GLOBAL_MAX_IN_FLIGHT",
  "GATEWAY_MAX_QUEUED_PER_TENANT",
  "GATEWAY_MAX_BODY_BYTES",
  "GATEWAY_LEDGER_SHARDS",
  "GATEWAY_SESSION_ID_DERIVATION",
  "GATEWAY_PASSTHROUGH_PATHS",
  "GATEWAY_LOG_GATHER_MS",
  "GATEWAY_FAIL_OPEN",
  "GATEWAY_OTEL_ENDPOINT",
  "GATEWAY_FAIRSHARE_ALGORITHM",
  "GATEWAY_BLOCK_PRIVATE_NETWORKS",
  "GATEWAY_ALLOWED_PRIVATE_CIDRS",
  "GATEWAY_JWT_ISSUERS",
  "GATEWAY_INTERNAL_BASE_URL",
] as const;

/** Which runtime executes the Worker. */
export type RuntimeKind = "workerd" | "wrangler";

/** The runtime and the loopback port it listens on now. */
export interface Runtime {
  readonly part: Supervised;
  /** That of the stack's own cell, or of one of its further cells. */
  port(cell?: string): number | undefined;
  inspectorPort(): number | null;
}

/** The Worker's text bindings. */
export function workerBindings(
  { config, internalToken }: Pick<StackContext, "config" | "internalToken">,
  redis: Endpoint,
  clickhouse: Pick<RunningClickhouse, "url" | "user" | "password">,
  controlUrl: string,
): Record<string, string> {
  const passed = PASSED_ON.filter((name) => config.variables[name] !== undefined);
  return {
    GATEWAY_CELL: "local",
    GATEWAY_LOG_GATHER_MS: "20",
    GATEWAY_INTERNAL_BASE_URL: controlUrl,
    ...Object.fromEntries(
      passed.map((name) => {
        const value = config.variables[name] ?? "";
        return [name, name === "GATEWAY_CELLS" ? placeless(value) : value];
      }),
    ),
    GATEWAY_INTERNAL_TOKEN: internalToken,
    GATEWAY_REDIS_URL: redis.url,
    GATEWAY_REDIS_TOKEN: redis.token,
    GATEWAY_CLICKHOUSE_URL: clickhouse.url,
    GATEWAY_CLICKHOUSE_USER: clickhouse.user,
    GATEWAY_CLICKHOUSE_PASSWORD: clickhouse.password,
  };
}

/** A list of cells without jurisdictions: there are none on one machine, and its runtime refuses to name one. */
function placeless(cells: string): string {
  const parsed = envCells.safeParse(cells);
  if (!parsed.success || parsed.data === undefined) return cells;
  return JSON.stringify(parsed.data.map(({ jurisdiction: _none, ...cell }) => cell));
}

/** Checks bindings by the Worker's own rules. Throws StackEnvError that names the variable. */
export async function checkBindings(bindings: Readonly<Record<string, string>>): Promise<void> {
  // loaded by name: the Worker's sources see the globals of its runtime, which this room's compiler does not know
  const source = new URL("../../edge/env.ts", import.meta.url).href;
  const { parseEnv } = (await import(source)) as { parseEnv: (bindings: Readonly<Record<string, string>>) => unknown };
  try {
    parseEnv(bindings);
  } catch (error) {
    throw new StackEnvError(error instanceof Error ? error.message : "the Worker's variables are malformed");
  }
}

/** Starts the Worker. Rejects when it cannot be bundled or started. */
export async function startRuntime(
  context: StackContext,
  kind: RuntimeKind,
  bindings: Readonly<Record<string, string>>,
  objectsLock: Pick<StackContext["lock"], "addHolder" | "removeHolder">,
  how: Pick<WorkerdOptions, "moreCells" | "entry" | "inspect">,
): Promise<Runtime> {
  const { config, guard, log } = context;
  let now: RunningWorkerd | undefined;
  const prepare = kind === "workerd" ? prepareWorkerd : prepareWrangler;
  const start: StartWorkerd = await prepare({
    folder: join(config.dataDir, "worker"),
    objectsFolder: config.objectsDir,
    bindings,
    ...how,
    guard,
    log: (line) => log("workerd", line),
  });
  const health: HealthCheck = {
    url: () => (now === undefined ? null : `http://127.0.0.1:${now.port}/health`),
    policy: context.liveness ?? RUNTIME_LIVENESS,
  };
  const part = await supervise({
    name: "workerd",
    log: (line) => log("stack", line),
    onGiveUp: (reason) => context.onGiveUp("workerd", reason),
    // somebody who works on the Worker stops it at a breakpoint
    ...(kind === "workerd" && how.inspect !== true ? { health } : {}),
    start: async (stopping) => {
      const running = await start(stopping);
      objectsLock.addHolder(running.child.pid);
      now = running;
      void running.child.exited.then(() => {
        now = undefined;
        objectsLock.removeHolder(running.child.pid);
      });
      return running.child;
    },
  });
  return {
    part,
    port: (cell) => (cell === undefined ? now?.port : now?.cellPorts.get(cell)),
    inspectorPort: () => now?.inspectorPort ?? null,
  };
}
