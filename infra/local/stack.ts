/**
 * The whole gateway on one machine: stores, control service, Worker runtime and the front before it. They are started in the
 * order of their dependencies, and stopped in reverse order. Every part that ends or hangs is restarted; if that does not help,
 * the stack stops and reports why.
 */
import { internalTokensOf } from "../../shared/crypto/internal-token.ts";
import { terminalText } from "../../shared/text/printable.ts";
import { buildConsoleIfChanged } from "../console/build.ts";
import { ClientAddresses } from "./client-addresses.ts";
import type { StackContext } from "./context.ts";
import { checkControl, type RunningControl, startControl } from "./control.ts";
import type { DashboardAccess } from "./dashboard.ts";
import { type Demo, lastDemoPort, seedDemo } from "./demo.ts";
import { startDemoUpstream } from "./demo-upstream.ts";
import { endRequests } from "./end-requests.ts";
import { checkStackNames, readStackEnv, StackEnvError } from "./env.ts";
import { type FrontProxy, type InnerAddress, innerOf, startFrontProxy } from "./front.ts";
import type { Listening } from "./http/listen.ts";
import { checkFree } from "./named-address.ts";
import { openCertificate, publicUrl } from "./own-certificate.ts";
import { lockFolders } from "./own-folders.ts";
import { ownFront, untilReady } from "./own-front.ts";
import { type Guard, startGuard } from "./process/child.ts";
import type { LivenessPolicy } from "./process/liveness.ts";
import { type Running, type Starting, startRunning } from "./process/running.ts";
import type { PartHandle, Supervised } from "./process/supervisor.ts";
import { checkBindings, type Runtime, type RuntimeKind, startRuntime, workerBindings } from "./runtime.ts";
import { storedSecret } from "./secrets.ts";
import { startClickhouse, startRedis } from "./stores.ts";
import { secureClients } from "./tls/secure-clients.ts";
import { startWorkerFront } from "./worker-front.ts";

/** A line of a part's log, as the part wrote it. */
interface WrittenLine {
  readonly part: string;
  readonly text: string;
}

/** The inputs of a stack's start. */
export interface StackOptions {
  /** The variables of the gateway and its console; listen addresses may have port 0. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Lines of the parts, each with the name of its part in front; and the part's own output. */
  readonly log?: (line: string, written: WrittenLine) => void;
  readonly runtime?: RuntimeKind;
  /** Names of cells in addition to GATEWAY_CELL; each has its own Worker and address. Not with `wrangler`. */
  readonly moreCells?: readonly string[];
  /** The Worker's entry, from the root of the project, when it is not the product's own. Not with `wrangler`. */
  readonly workerEntry?: string;
  /** Whether the Worker's runtime can be inspected while it runs, which makes it slower. Not with `wrangler`. */
  readonly inspect?: boolean;
  /** In a cluster: by how much the times of a lease and of a takeover are divided. For tests (workerd's own documentation). */
  readonly clusterTimeDivisor?: number;
  /** How a hanging part is noticed, when not by its own policy (liveness.ts). */
  readonly liveness?: LivenessPolicy;
  /** Aborts when the start is given up. */
  readonly unwanted?: AbortSignal;
}

/** A running stack. */
export interface Stack extends Running {
  readonly proxyUrl: string;
  /** The Worker's own sockets, one for each process that runs now, past the front. For measurements: see front.ts. */
  readonly runtimeUrls: () => readonly string[];
  /** The address of V8's inspector of the process with the objects; null when the inspector is not switched on. */
  readonly inspectorUrl: () => string | null;
  /** The address of each cell, by name. */
  readonly cellUrls: ReadonlyMap<string, string>;
  readonly adminUrl: string;
  readonly metricsUrl: string;
  readonly adminToken: string;
  /** Whether this start generated the admin token. */
  readonly adminTokenMade: boolean;
  readonly internalToken: string;
  readonly dataDir: string;
  /** Null: the stack has no console. */
  readonly dashboard: DashboardAccess | null;
  readonly demo: Demo | null;
  readonly parts: ReadonlyMap<string, PartHandle>;
}

const CONTROL_DRAIN_MS = 6_000;
const STOP_MS = 2_000;

const inProcess = (name: string): PartHandle => ({ name, pid: null, ready: async () => undefined });

/** An address on this machine that leads to `target`, once `runs` is resolved. */
async function startLink(target: () => InnerAddress | undefined, runs: Promise<void>): Promise<Listening> {
  const targets = (): readonly InnerAddress[] => [target()].filter((found) => found !== undefined);
  return await startFrontProxy("127.0.0.1", 0, targets, null, undefined, undefined, runs);
}

async function startDemo(dataDir: string): Promise<Listening> {
  const port = lastDemoPort(dataDir);
  try {
    return await startDemoUpstream({ port });
  } catch {
    return startDemoUpstream();
  }
}

function tell({ log }: StackOptions, part: string, text: string): void {
  log?.(terminalText(`${part} | ${text}`), { part, text });
}

async function start(options: StackOptions, { undo, onGiveUp, abandoned, waits }: Starting) {
  checkStackNames(options.env, (text) => tell(options, "stack", text));
  let config = readStackEnv(options.env, process.cwd(), true, options.clusterTimeDivisor);
  if (options.runtime === "wrangler" && config.workers > 1)
    throw new StackEnvError("GATEWAY_WORKERS must be 1 with npm run dev, whose Worker runs in one process");
  if (options.runtime === "wrangler" && config.cluster !== null)
    throw new StackEnvError("GATEWAY_CLUSTER_BUCKET must be unset with npm run dev, whose Worker runs on one machine");
  const stores = { url: "http://127.0.0.1", token: "" };
  checkBindings(
    workerBindings(
      { config, internalToken: "", internalTokenOld: undefined },
      stores,
      { url: stores.url, user: "", password: "" },
      stores.url,
    ),
  );
  checkControl(config);
  const clients = new ClientAddresses(config.variables);
  const log = (part: string, line: string) => {
    waits.heard(part, line);
    tell(options, part, part === "workerd" ? clients.told(line) : line);
  };
  const certificate = await openCertificate(config.tls, (line) => log("front", line), undo);
  const [lock, objectsLock] = await lockFolders(config, undo);
  if (!config.handed.has("admin")) await checkFree("GATEWAY_ADMIN_LISTEN", config.admin);
  if (!config.handed.has("metrics")) await checkFree("GATEWAY_METRICS_LISTEN", config.metrics);
  if (config.dashboardListen !== undefined && !config.handed.has("dashboard"))
    await checkFree("GATEWAY_DASHBOARD_LISTEN", config.dashboardListen);

  const parts = new Map<string, PartHandle>();
  const keep = (part: Supervised, graceMs: number) => {
    parts.set(part.name, part);
    undo.add(() => part.stop(graceMs));
    return part;
  };
  let runtimePorts = (_cell?: string): readonly number[] => [];
  const secure = certificate === null ? null : secureClients(certificate);
  const front = await ownFront(config, (port) =>
    startWorkerFront(config.proxy.host, port, () => runtimePorts(), secure, clients),
  );
  const proxyUrl = publicUrl(front, certificate);
  undo.add(() => front.close());
  parts.set("front", inProcess("front"));
  const fronts = new Map<string, Pick<FrontProxy, "url" | "drain" | "quiet" | "close">>([
    [config.variables["GATEWAY_CELL"] ?? "local", front],
  ]);
  for (const cell of options.moreCells ?? []) {
    const own = await startWorkerFront("127.0.0.1", 0, () => runtimePorts(cell), null, clients);
    undo.add(() => own.close());
    fronts.set(cell, own);
  }
  if (fronts.size > 1) {
    const cells = JSON.stringify([...fronts].map(([cell, { url }]) => ({ cell, url })));
    config = { ...config, variables: { ...config.variables, GATEWAY_CELLS: cells } };
  }

  const guard: Guard = startGuard();
  undo.add(() => guard.close());
  const kept =
    config.adminToken === undefined
      ? storedSecret(config.dataDir, "admin-token")
      : { secret: config.adminToken, made: false };
  const [internalToken = "", internalTokenOld] = await internalTokensOf({ ...config, adminToken: kept.secret });
  const context: StackContext = {
    config,
    adminToken: kept.secret,
    internalToken,
    internalTokenOld,
    guard,
    lock,
    liveness: options.liveness,
    log,
    abandoned,
    onGiveUp,
  };

  // Without its pages the console reports that, and the gateway works: a read-only folder must not keep it from starting.
  const built = config.dashboard
    ? buildConsoleIfChanged().catch((error: Error) => log("stack", `the console cannot be built: ${error.message}`))
    : Promise.resolve();
  const redis = await startRedis(context);
  undo.add(() => redis.close());
  if (config.redis.kind !== "rest") parts.set("redis", inProcess("redis"));
  const demoUpstream = config.demo ? await startDemo(config.dataDir) : null;
  if (demoUpstream !== null) {
    undo.add(() => demoUpstream.close());
    parts.set("demo-upstream", inProcess("demo-upstream"));
  }
  const clickhouse = await waits.during("clickhouse", startClickhouse(context));
  if (clickhouse.part !== null) keep(clickhouse.part, STOP_MS);

  const draining = [...fronts.values()];
  const startOwnFront = async (): Promise<string> => {
    const own = await startWorkerFront("127.0.0.1", 0, () => runtimePorts(), null, clients);
    undo.add(() => own.close());
    draining.push(own);
    return own.url;
  };
  const planes: { runtime?: Runtime; control?: RunningControl } = {};
  const stopRuntime = async (): Promise<void> => {
    const { runtime } = planes;
    if (runtime !== undefined) await endRequests({ fronts: draining, runtime, config, internalToken });
  };
  const stopControl = async (): Promise<void> => await planes.control?.part.stop(CONTROL_DRAIN_MS);
  // Both start at the same time. Each gets an address that leads to the other one, even after restarts; calls to a part that
  // does not run yet wait for it.
  const [runtimeRuns, controlRuns] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const toControl = await startLink(() => planes.control && innerOf(planes.control.adminUrl), controlRuns.promise);
  undo.add(() => toControl.close());
  const toObjects = await startLink(() => {
    const port = planes.runtime?.objectsPort();
    return port === undefined ? undefined : { host: "127.0.0.1", port };
  }, runtimeRuns.promise);
  undo.add(() => toObjects.close());
  // The console calls the data plane on this machine, where the name of the certificate may lead elsewhere.
  const secured = secure === null ? null : { ownProxyUrl: await startOwnFront(), tlsAddress: new URL(front.url).host };
  // Both drain at the same time, before what leads from one to the other ends, and the stores stop.
  undo.add(async () => void (await Promise.all([stopRuntime(), stopControl()])));
  const bindings = workerBindings(context, redis, clickhouse, toControl.url);
  const runRuntime = async (): Promise<Runtime> => {
    const runtime = await startRuntime(context, options.runtime ?? "workerd", bindings, objectsLock, {
      moreCells: options.moreCells ?? [],
      entry: options.workerEntry,
      inspect: options.inspect,
      clusterTimeDivisor: options.clusterTimeDivisor,
    });
    planes.runtime = runtime;
    runtimePorts = runtime.ports;
    runtimeRuns.resolve();
    return runtime;
  };
  const runControl = async (): Promise<RunningControl> => {
    await waits.during("console", built);
    const neighbours = { redis, clickhouse, edgeUrl: toObjects.url, proxyUrl, secured };
    const control = await waits.during("control", startControl(context, neighbours));
    planes.control = control;
    controlRuns.resolve();
    return control;
  };
  const [runtime, control] = await Promise.all([waits.during("workerd", runRuntime()), runControl()]);
  for (const part of [control.part, ...runtime.parts]) parts.set(part.name, part);
  const { adminUrl, metricsUrl, dashboard } = control;
  const demo =
    demoUpstream === null
      ? null
      : await waits.during(
          "demo",
          seedDemo({
            adminUrl,
            adminToken: kept.secret,
            dataDir: config.dataDir,
            databaseUrl: config.databaseUrl,
            apiBase: `${demoUpstream.url}/v1`,
          }),
        );
  const ready = { ports: runtimePorts, withinMs: config.startTimeoutMs, abandoned };
  await waits.during("ready", untilReady({ ...ready, heard: (what) => waits.heard("ready", what) }));
  await front.open();
  return {
    proxyUrl,
    runtimeUrls: () => runtimePorts().map((port) => `http://127.0.0.1:${port}`),
    inspectorUrl: () => {
      const port = runtime.inspectorPort();
      return port === null ? null : `http://127.0.0.1:${port}`;
    },
    cellUrls: new Map([...fronts].map(([cell, { url }]) => [cell, url])),
    adminUrl,
    metricsUrl,
    adminToken: kept.secret,
    adminTokenMade: kept.made,
    internalToken,
    dataDir: config.dataDir,
    dashboard,
    demo,
    parts,
  };
}

/**
 * Starts a stack and resolves when every part is ready. Rejects with a one-line message; then everything is stopped again.
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  return await startRunning(async (starting) => await start(options, starting), {
    unwanted: options.unwanted,
    log: (line) => tell(options, "stack", line),
  });
}
