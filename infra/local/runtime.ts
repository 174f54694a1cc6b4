/**
 * The Worker of the stack: its variables, and the supervised runtime that executes it: plain workerd, in one process or
 * in several (docs/rules/local-stack.md#several-processes), or `wrangler dev` during development of the Worker. The
 * port of a process changes with each start; the front reads the current one.
 */
import { join } from "node:path";
import { parseEnv, workerVariables } from "../../edge/env.ts";
import { envCells } from "../../shared/env/cells.ts";
import { CLUSTER_PATIENCE_SECS } from "./cluster.ts";
import type { Endpoint, StackContext } from "./context.ts";
import { StackEnvError } from "./env.ts";
import { RUNTIME_LIVENESS } from "./process/liveness.ts";
import {
  type HealthCheck,
  type PartHandle,
  type RestartPolicy,
  type Supervised,
  supervise,
} from "./process/supervisor.ts";
import type { RunningClickhouse } from "./stores.ts";
import type { ProcessRole } from "./workerd/config.ts";
import { prepareWorkerd, type RunningWorkerd, type StartWorkerd, type WorkerdOptions } from "./workerd/start.ts";
import { prepareWrangler } from "./wrangler.ts";

/** Variables of the Worker that the stack sets itself, regardless of the environment. */
const OF_STACK: ReadonlySet<string> = new Set([
  "GATEWAY_ADMIN_TOKEN",
  "GATEWAY_ADMIN_TOKEN_OLD",
  "GATEWAY_INTERNAL_TOKEN",
  "GATEWAY_INTERNAL_TOKEN_OLD",
  "GATEWAY_REDIS_URL",
  "GATEWAY_REDIS_TOKEN",
  "GATEWAY_CLICKHOUSE_URL",
  "GATEWAY_CLICKHOUSE_USER",
  "GATEWAY_CLICKHOUSE_PASSWORD",
]);

/** Variables that the Worker gets unchanged. */
const PASSED_ON = Object.keys(workerVariables).filter((name) => !OF_STACK.has(name));

/**
 * A member of a cluster ends itself when it has not reached the bucket for the time of a lease, and cannot start before it
 * reaches the bucket again. It is restarted for about ten minutes, so that a bucket that is unreachable for some minutes does
 * not end every machine.
 */
const CLUSTER_RESTARTS: RestartPolicy = { restarts: 10, withinMs: 600_000, firstPauseMs: 500 };

/** The time that a process with only the objects has to end, ms. */
const OBJECTS_STOP_MS = 1_000;

/** What `npm start` gives the Worker unless a variable says otherwise. */
export const STACK_DEFAULTS = { GATEWAY_CELL: "local", GATEWAY_LOG_GATHER_MS: "20" } as const;

/** Which runtime executes the Worker. */
export type RuntimeKind = "workerd" | "wrangler";

/** The runtime and the loopback ports on which it listens now. */
export interface Runtime {
  /**
   * The process with the objects, `workerd`, and the Worker processes before it, if there are any: `worker-1` and so on.
   */
  readonly parts: readonly PartHandle[];
  /** The URLs of the processes that serve the stack's own cell, or one of its other cells. */
  readonly ports: (cell?: string) => readonly number[];
  /** The URL of the process with the objects, which answers the internal routes. */
  readonly objectsPort: () => number | undefined;
  /** The inspector port of the process with the objects. */
  inspectorPort(): number | null;
  /** The ports of all Workers that serve requests, including those of other cells. */
  readonly servingPorts: () => readonly number[];
  /**
   * Whether a process that is told to stop finishes its running requests. In a cluster it would keep its objects from other
   * machines meanwhile.
   */
  readonly finishes: boolean;
  /**
   * Ends the Worker processes first, so that the objects can settle their requests. A process that serves requests has
   * `graceMs` for it.
   */
  stop(graceMs: number): Promise<void>;
}

/** One process of the runtime. */
interface RuntimeProcess {
  readonly part: Supervised;
  /** The current process; null while it is being restarted. */
  readonly now: () => RunningWorkerd | null;
}

/** The Worker's text bindings. */
export function workerBindings(
  { config, internalToken, internalTokenOld }: Pick<StackContext, "config" | "internalToken" | "internalTokenOld">,
  redis: Endpoint,
  clickhouse: Pick<RunningClickhouse, "url" | "user" | "password">,
  controlUrl: string,
): Record<string, string> {
  const passed = PASSED_ON.filter((name) => config.variables[name] !== undefined);
  return {
    ...STACK_DEFAULTS,
    ...(config.cluster === null ? {} : { GATEWAY_ADMISSION_PATIENCE_SECS: CLUSTER_PATIENCE_SECS }),
    GATEWAY_INTERNAL_BASE_URL: controlUrl,
    ...Object.fromEntries(
      passed.map((name) => {
        const value = config.variables[name] ?? "";
        return [name, name === "GATEWAY_CELLS" ? placeless(value) : value];
      }),
    ),
    GATEWAY_INTERNAL_TOKEN: internalToken,
    ...(internalTokenOld === undefined ? {} : { GATEWAY_INTERNAL_TOKEN_OLD: internalTokenOld }),
    GATEWAY_REDIS_URL: redis.url,
    GATEWAY_REDIS_TOKEN: redis.token,
    GATEWAY_CLICKHOUSE_URL: clickhouse.url,
    GATEWAY_CLICKHOUSE_USER: clickhouse.user,
    GATEWAY_CLICKHOUSE_PASSWORD: clickhouse.password,
  };
}

/** The list of cells without jurisdictions: one machine has none, and its runtime refuses names of jurisdictions. */
function placeless(cells: string): string {
  const parsed = envCells.safeParse(cells);
  if (!parsed.success || parsed.data === undefined) return cells;
  return JSON.stringify(parsed.data.map(({ jurisdiction: _none, ...cell }) => cell));
}

/** Checks bindings by the Worker's own rules. Throws StackEnvError, which names the variable. */
export function checkBindings(bindings: Readonly<Record<string, string>>): void {
  try {
    parseEnv(bindings);
  } catch (error) {
    throw new StackEnvError(error instanceof Error ? error.message : "the Worker's variables are malformed");
  }
}

/** Starts the Worker. Rejects when it cannot be bundled or started; then everything is stopped again. */
export async function startRuntime(
  context: StackContext,
  kind: RuntimeKind,
  bindings: Readonly<Record<string, string>>,
  objectsLock: Pick<StackContext["lock"], "addHolder" | "removeHolder">,
  how: Pick<WorkerdOptions, "moreCells" | "entry" | "inspect" | "built"> & {
    readonly clusterTimeDivisor?: number | undefined;
  },
): Promise<Runtime> {
  const { config, guard, log } = context;
  const prepare = kind === "workerd" ? prepareWorkerd : prepareWrangler;
  const start: StartWorkerd = await prepare({
    folder: join(config.dataDir, "worker"),
    objectsFolder: config.objectsDir,
    bindings,
    moreCells: how.moreCells,
    entry: how.entry,
    inspect: how.inspect,
    built: how.built,
    cluster: config.cluster === null ? null : { ...config.cluster, timeDivisor: how.clusterTimeDivisor ?? 1 },
    guard,
    startTimeoutMs: config.startTimeoutMs,
    log: (line) => log("workerd", line),
  });
  // A developer may stop the Worker at a breakpoint.
  const isWatched = kind === "workerd" && how.inspect !== true;
  const startProcess = async (name: string, role: ProcessRole): Promise<RuntimeProcess> => {
    let now: RunningWorkerd | null = null;
    const health: HealthCheck = {
      url: () => (now === null ? null : `http://127.0.0.1:${now.port}/health`),
      policy: context.liveness ?? RUNTIME_LIVENESS,
    };
    const part = await supervise({
      name,
      log: (line) => log("stack", line),
      abandoned: context.abandoned,
      onGiveUp: (reason) => context.onGiveUp(name, reason),
      ...(config.cluster === null ? {} : { policy: CLUSTER_RESTARTS }),
      ...(isWatched ? { health } : {}),
      start: async (stopping) => {
        const running = await start(role, stopping);
        objectsLock.addHolder(running.child.pid);
        now = running;
        void running.child.exited.then(() => {
          now = null;
          objectsLock.removeHolder(running.child.pid);
        });
        return running.child;
      },
    });
    return { part, now: () => now };
  };
  const isOne = config.workers === 1;
  const objects = await startProcess("workerd", isOne ? "everything" : "objects").catch((error: Error) => {
    if (config.cluster === null) throw error;
    throw new StackEnvError(
      `the runtime cannot join the cluster of GATEWAY_CLUSTER_BUCKET ${config.cluster.bucket}: ${error.message}`,
    );
  });
  const names = isOne ? [] : Array.from({ length: config.workers }, (_, at) => `worker-${at + 1}`);
  const started = await Promise.allSettled(names.map(async (name) => await startProcess(name, "requests")));
  const workers = started.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  const stop = async (graceMs: number): Promise<void> => {
    await Promise.all(workers.map(async ({ part }) => await part.stop(graceMs)));
    await objects.part.stop(isOne ? graceMs : OBJECTS_STOP_MS);
  };
  const failed = started.find((each) => each.status === "rejected");
  if (failed !== undefined) {
    await stop(0);
    throw failed.reason;
  }
  const serving = isOne ? [objects] : workers;
  return {
    parts: [objects, ...workers].map(({ part }) => part),
    ports: (cell) =>
      serving.flatMap(({ now }) => (cell === undefined ? now()?.port : now()?.cellPorts.get(cell)) ?? []),
    servingPorts: () =>
      serving.flatMap(({ now }) => {
        const running = now();
        return running === null ? [] : [running.port, ...running.cellPorts.values()];
      }),
    finishes: kind === "workerd" && config.cluster === null,
    objectsPort: () => objects.now()?.port,
    inspectorPort: () => objects.now()?.inspectorPort ?? null,
    stop,
  };
}
