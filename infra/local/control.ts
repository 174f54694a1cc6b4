/**
 * The control service as a supervised child: `node control/main.ts` with its whole configuration in the environment. After
 * a restart it listens on the same address as before.
 */
import { join } from "node:path";
import { parseEnv } from "../../control/env.ts";
import type { Endpoint, StackContext } from "./context.ts";
import { type DashboardAccess, prepareDashboard } from "./dashboard.ts";
import { type StackConfig, StackEnvError } from "./env.ts";
import { compileCache } from "./own-folders.ts";
import { jsonLine, startChild } from "./process/child.ts";
import { CONTROL_LIVENESS } from "./process/liveness.ts";
import { type Supervised, supervise } from "./process/supervisor.ts";
import { secretDigests } from "./secret-digests.ts";
import type { RunningClickhouse } from "./stores.ts";

/** What Node is called with: the service, and before it what makes its imports quick. */
export const CONTROL_ARGS = [
  "--import",
  join(import.meta.dirname, "quick-imports.mjs"),
  join(import.meta.dirname, "../../control/main.ts"),
];

/** The control service with the addresses for clients on this machine. */
export interface RunningControl {
  readonly part: Supervised;
  readonly adminUrl: string;
  readonly metricsUrl: string;
  /** Null: the stack has no console. */
  readonly dashboard: DashboardAccess | null;
}

/** The parts that the control service is connected to. */
interface ControlNeighbours {
  readonly redis: Endpoint;
  readonly clickhouse: RunningClickhouse;
  readonly edgeUrl: string;
  /** Where clients reach the data plane. */
  readonly proxyUrl: string;
  /** Of a data plane that speaks TLS: where the console reaches it without, and where it shows its certificate. */
  readonly secured: { readonly ownProxyUrl: string; readonly tlsAddress: string } | null;
}

const hostPort = (url: string) => new URL(url).host;
const listenText = ({ host, port }: { host: string; port: number }) =>
  `${host.includes(":") ? `[${host}]` : host}:${port}`;

function clientUrl(value: unknown): string {
  const url = new URL(String(value));
  if (url.hostname === "0.0.0.0") url.hostname = "127.0.0.1";
  if (url.hostname === "[::]") url.hostname = "[::1]";
  return url.origin;
}

/** A member of a cluster says on its cluster port whether it holds its lease; an isolate alone only that it answers. */
function runtimeReadyUrl(cluster: StackConfig["cluster"], edgeUrl: string): string {
  if (cluster === null) return `${edgeUrl}/health`;
  return `http://${cluster.listen.replace(/^(?:0\.0\.0\.0|\[::\]|\*):/, "127.0.0.1:")}/ready`;
}

/** The values that the control service compares with the other instances of the cluster. */
function sharedSecretsOf({ config, adminToken }: StackContext): Record<string, string> {
  const { cluster, internalToken, adminTokenOld, internalTokenOld, dashboard, variables } = config;
  if (cluster === null) return {};
  return {
    GATEWAY_SHARED_SECRETS: secretDigests({
      clusterKey: cluster.key,
      adminToken,
      internalToken,
      adminTokenOld,
      internalTokenOld,
      dashboard,
      variables,
    }),
  };
}

/** Placeholder for a secret that will be generated. */
const GENERATED = "generated secret, long enough for all";

/** Refuses a configuration that the control service would refuse, before any part is started. Throws StackEnvError. */
export function checkControl(config: StackConfig): void {
  const { GATEWAY_REDIS_URL: _redis, GATEWAY_CLICKHOUSE_URL: _clickhouse, ...variables } = config.variables;
  try {
    parseEnv({
      GATEWAY_ADMIN_TOKEN: config.adminToken ?? "generated",
      GATEWAY_DATABASE_URL: config.databaseUrl,
      ...(config.dashboard ? { DASHBOARD_PASSWORD: GENERATED, DASHBOARD_SESSION_SECRET: GENERATED } : {}),
      ...variables,
    });
  } catch (error) {
    throw new StackEnvError(error instanceof Error ? error.message : "the control service's variables are malformed");
  }
}

/** Starts the control service. Rejects with its last line of output when it cannot run. */
export async function startControl(context: StackContext, neighbours: ControlNeighbours): Promise<RunningControl> {
  const { config, guard, lock, log } = context;
  const { redis, clickhouse, edgeUrl, proxyUrl, secured } = neighbours;
  const dashboard = config.dashboard ? prepareDashboard(config, proxyUrl) : null;
  const bound = { adminUrl: "", metricsUrl: "", dashboardUrl: "" };
  const keepPort = (address: { host: string; port: number }, url: string) =>
    listenText(url === "" ? address : { ...address, port: Number(hostPort(url).split(":").at(-1)) });

  const part = await supervise({
    name: "control",
    log: (line) => log("stack", line),
    abandoned: context.abandoned,
    onGiveUp: (reason) => context.onGiveUp("control", reason),
    health: {
      url: () => `${bound.adminUrl}/api/v1/health`,
      policy: context.liveness ?? CONTROL_LIVENESS,
    },
    start: async (stopping) => {
      const child = await startChild(
        {
          name: "control",
          unwanted: stopping,
          command: process.execPath,
          args: CONTROL_ARGS,
          sockets: new Map([...config.handed].filter(([name]) => name !== "proxy")),
          env: {
            PATH: process.env["PATH"],
            TZ: process.env["TZ"],
            NODE_EXTRA_CA_CERTS: process.env["NODE_EXTRA_CA_CERTS"],
            NODE_COMPILE_CACHE: compileCache(config.dataDir),
            GATEWAY_EDGE_BASE_URL: edgeUrl,
            ...(secured === null ? {} : { GATEWAY_TLS_ADDRESS: secured.tlsAddress }),
            ...config.variables,
            ...dashboard?.variables,
            ...(secured === null ? {} : { GATEWAY_PROXY_OWN_URL: secured.ownProxyUrl }),
            GATEWAY_ADMIN_LISTEN: keepPort(config.admin, bound.adminUrl),
            GATEWAY_METRICS_LISTEN: keepPort(config.metrics, bound.metricsUrl),
            GATEWAY_ADMIN_TOKEN: context.adminToken,
            // The control service derives one that is not configured, and accepts the old one that follows from the old admin token.
            ...(config.internalToken === undefined ? {} : { GATEWAY_INTERNAL_TOKEN: config.internalToken }),
            GATEWAY_DATABASE_URL: config.databaseUrl,
            GATEWAY_REDIS_URL: redis.url,
            GATEWAY_REDIS_TOKEN: redis.token,
            GATEWAY_CLICKHOUSE_URL: clickhouse.url,
            GATEWAY_CLICKHOUSE_USER: clickhouse.user,
            GATEWAY_CLICKHOUSE_PASSWORD: clickhouse.password,
            ...(bound.dashboardUrl === "" ? {} : { GATEWAY_DASHBOARD_LISTEN: hostPort(bound.dashboardUrl) }),
            GATEWAY_DATA_DIR: config.dataDir,
            ...(config.objectsVariable === "GATEWAY_WAL_PATH" ? { GATEWAY_WAL_PATH: config.objectsDir } : {}),
            GATEWAY_RUNTIME_READY_URL: runtimeReadyUrl(config.cluster, edgeUrl),
            ...sharedSecretsOf(context),
            GATEWAY_PARENT_WATCH: "1",
          },
          readyFrom: "stdout",
          readReady: (line) => {
            const message = jsonLine(line);
            return message?.["event"] === "listening" ? message : undefined;
          },
          log: (line) => log("control", line),
        },
        guard,
        config.startTimeoutMs,
      );
      lock.addHolder(child.pid);
      void child.exited.then(() => lock.removeHolder(child.pid));
      const message = await child.ready;
      bound.adminUrl = clientUrl(message["admin"]);
      bound.metricsUrl = clientUrl(message["metrics"]);
      if (message["dashboard"] !== undefined) bound.dashboardUrl = clientUrl(message["dashboard"]);
      return child;
    },
  });
  return {
    part,
    adminUrl: bound.adminUrl,
    metricsUrl: bound.metricsUrl,
    dashboard: dashboard === null ? null : { url: bound.dashboardUrl, ...dashboard.access },
  };
}
