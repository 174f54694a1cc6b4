/**
 * The data plane alone: the Worker in its runtime and the front before it, for a machine or container whose control service
 * and stores run elsewhere. Parts are supervised and stopped as in the whole stack (stack.ts).
 */
import { internalTokensOf } from "../../shared/crypto/internal-token.ts";
import { terminalText } from "../../shared/text/printable.ts";
import { ClientAddresses } from "./client-addresses.ts";
import type { StackContext } from "./context.ts";
import { endRequests } from "./end-requests.ts";
import { checkStackNames, readStackEnv, type StackConfig, StackEnvError } from "./env.ts";
import { openCertificate, publicUrl } from "./own-certificate.ts";
import { lockFolders } from "./own-folders.ts";
import { ownFront, untilReady } from "./own-front.ts";
import { startGuard } from "./process/child.ts";
import { type Running, type Starting, startRunning } from "./process/running.ts";
import { checkBindings, startRuntime, workerBindings } from "./runtime.ts";
import { startClickhouse, startRedis } from "./stores.ts";
import { secureClients } from "./tls/secure-clients.ts";
import { startWorkerFront } from "./worker-front.ts";

/** The inputs of a data plane's start. */
interface EdgeOptions {
  /** The variables of the gateway. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The folder of a bundled Worker; undefined: it is bundled from the sources. */
  readonly built?: string | undefined;
  /** Called with each line of output of a part. */
  readonly log: (part: string, line: string) => void;
  /** Aborts when the start is given up. */
  readonly unwanted?: AbortSignal;
}

/** A running data plane. */
interface Edge extends Running {
  readonly proxyUrl: string;
}

/** Missing values: name -> required form. */
const NEEDED: Readonly<Record<string, string>> = {
  GATEWAY_INTERNAL_BASE_URL: "the Management API of the control service, such as http://control:9180",
  GATEWAY_REDIS_URL: "the key-value store of the control service",
  GATEWAY_CLICKHOUSE_URL: "the ClickHouse of the control service",
};

/** Reads the variables of a data plane. Throws StackEnvError, which names every variable that is missing or malformed. */
export function readEdgeEnv(env: EdgeOptions["env"], cwd: string): StackConfig {
  const isSet = (name: string): boolean => env[name] !== undefined && env[name].trim() !== "";
  const problems = Object.entries(NEEDED)
    .filter(([name]) => !isSet(name))
    .map(([name, what]) => `${name} is required by a data plane alone: ${what}`);
  if (!isSet("GATEWAY_INTERNAL_TOKEN") && !isSet("GATEWAY_ADMIN_TOKEN"))
    problems.push("GATEWAY_INTERNAL_TOKEN is required by a data plane alone: the same as the control service's");
  if (problems.length > 0) throw new StackEnvError(problems.join("; "));
  return readStackEnv({ ...env, GATEWAY_DEMO: "0", GATEWAY_DASHBOARD: "0" }, cwd, false);
}

/** Starts a data plane and resolves when it serves. Rejects with a one-line message; then everything is stopped again. */
export async function startEdge({ env, built, log, unwanted }: EdgeOptions): Promise<Edge> {
  const start = async ({ undo, onGiveUp, abandoned, waits }: Starting) => {
    checkStackNames(env, (line) => log("stack", line));
    const config = readEdgeEnv(env, process.cwd());
    const [internalToken = "", internalTokenOld] = await internalTokensOf(config);
    const bindings = (...stores: Parameters<typeof workerBindings> extends [unknown, ...infer Rest] ? Rest : never) =>
      workerBindings({ config, internalToken, internalTokenOld }, ...stores);
    const nowhere = { url: "http://127.0.0.1", token: "" };
    checkBindings(bindings(nowhere, { url: nowhere.url, user: "", password: "" }, nowhere.url));

    const [lock, objectsLock] = await lockFolders(config, undo);
    const certificate = await openCertificate(config.tls, (line) => log("front", terminalText(line)), undo);
    const secure = certificate === null ? null : secureClients(certificate);
    const clients = new ClientAddresses(config.variables);
    let runtimePorts = (): readonly number[] => [];
    const front = await ownFront(config, (port) =>
      startWorkerFront(config.proxy.host, port, () => runtimePorts(), secure, clients),
    );
    undo.add(() => front.close());
    const guard = startGuard();
    undo.add(() => guard.close());
    const context: StackContext = {
      config,
      adminToken: "",
      internalToken,
      internalTokenOld,
      guard,
      lock,
      liveness: undefined,
      log: (part, line) => {
        waits.heard(part, line);
        log(part, terminalText(part === "workerd" ? clients.told(line) : line));
      },
      abandoned,
      onGiveUp,
    };
    const redis = await startRedis(context);
    undo.add(() => redis.close());
    const clickhouse = await startClickhouse(context);
    const starting = startRuntime(context, "workerd", bindings(redis, clickhouse, nowhere.url), objectsLock, {
      moreCells: [],
      built,
    });
    const runtime = await waits.during("workerd", starting);
    undo.add(async () => await endRequests({ fronts: [front], runtime, config, internalToken }));
    runtimePorts = runtime.ports;
    const ready = { ports: runtimePorts, withinMs: config.startTimeoutMs, abandoned };
    await waits.during("ready", untilReady({ ...ready, heard: (what) => waits.heard("ready", what) }));
    await front.open();
    return { proxyUrl: publicUrl(front, certificate) };
  };
  return await startRunning(start, { unwanted, log: (line) => log("stack", terminalText(line)) });
}
