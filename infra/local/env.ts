/**
 * The launcher's configuration: which parts are embedded, where they listen, where their data is. All of it is validated before
 * any part starts; an error names the variable and its required form, never its value. The Worker's own rules validate the
 * variables of the Worker, the control service's own rules those of the control service.
 */
import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { z } from "zod";
import { checkNames } from "../../control/kernel/check-names.ts";
import { CONTROL_SOCKETS, handedSockets } from "../../control/process/handed-sockets.ts";
import { envOptionalStoreUrl, envOptionalWebUrl } from "../../shared/env/env-fields.ts";
import { isKnownVariable, strictVariables } from "../../shared/env/unknown-variables.ts";
import { type ClusterConfig, readCluster } from "./cluster.ts";
import type { CertificateFiles } from "./tls/certificate.ts";

/** An address to listen on. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** Which key-value store is used. */
type RedisChoice =
  | { readonly kind: "embedded" }
  | { readonly kind: "redis"; readonly url: string }
  | { readonly kind: "rest"; readonly url: string; readonly token: string };

/** The validated configuration of one stack. */
export interface StackConfig {
  readonly proxy: ListenAddress;
  /** Descriptors of sockets that a service manager listens on, by their server; they override the addresses. */
  readonly handed: ReadonlyMap<"proxy" | (typeof CONTROL_SOCKETS)[number], number>;
  /** The certificate of the data plane; null: it speaks plain HTTP. */
  readonly tls: CertificateFiles | null;
  readonly admin: ListenAddress;
  readonly metrics: ListenAddress;
  /** Where the console listens; undefined: on the usual port, or on a free one after it. */
  readonly dashboardListen: ListenAddress | undefined;
  /** Undefined: the stack generates a token and keeps it in the data folder. */
  readonly adminToken: string | undefined;
  readonly internalToken: string | undefined;
  readonly adminTokenOld: string | undefined;
  readonly internalTokenOld: string | undefined;
  /** An absolute path. */
  readonly dataDir: string;
  /** The absolute path of the folder with the storage of the Durable Objects. */
  readonly objectsDir: string;
  /** The variable to change when that folder cannot be used. */
  readonly objectsVariable: "GATEWAY_WAL_PATH" | "GATEWAY_DATA_DIR";
  readonly databaseUrl: string;
  readonly redis: RedisChoice;
  /** Undefined: the embedded analytics store is used. */
  readonly clickhouseUrl: string | undefined;
  readonly clickhouseUser: string;
  readonly clickhousePassword: string;
  readonly demo: boolean;
  /** Whether the control service serves the console. */
  readonly dashboard: boolean;
  /**
   * The number of Worker processes before the one with the objects; 1: a single process does everything
   * (docs/rules/local-stack.md#several-processes).
   */
  readonly workers: number;
  /** How long a part may take until it is ready, before its start has failed. */
  readonly startTimeoutMs: number;
  /** How long requests may finish at a stop. */
  readonly drainMs: number;
  /** Null: this machine is on its own. */
  readonly cluster: ClusterConfig | null;
  /** Every variable of the gateway and its console that is set; passed to the parts. */
  readonly variables: Readonly<Record<string, string>>;
}

/** A malformed variable; the message is one line that names it. */
export class StackEnvError extends Error {
  override readonly name = "StackEnvError";
}

const TRUTHY = new Set(["1", "true", "yes", "on"]);
const FALSY = new Set(["0", "false", "no", "off"]);

const listenAddress = <Fallback extends ListenAddress | undefined>(fallback: Fallback) =>
  z
    .string()
    .optional()
    .transform((text, context): ListenAddress | Fallback => {
      if (text === undefined) return fallback;
      const found = /^(?:\[([^\]]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(text.trim());
      const port = Number(found?.[3]);
      if (found !== null && port <= 65_535) return { host: found[1] ?? (found[2] || "0.0.0.0"), port };
      context.addIssue({ code: "custom", message: "must be host:port, such as 127.0.0.1:8080" });
      return z.NEVER;
    });

const flag = (fallback: boolean) =>
  z
    .string()
    .optional()
    .transform((text, context): boolean => {
      if (text === undefined) return fallback;
      const value = text.trim().toLowerCase();
      if (TRUTHY.has(value)) return true;
      if (FALSY.has(value)) return false;
      context.addIssue({ code: "custom", message: "must be 1, true, yes, on, 0, false, no or off" });
      return z.NEVER;
    });

const WORKERS_MAX = 256;

/** `auto` leaves one core to the objects. */
const workers = z
  .string()
  .optional()
  .transform((text, context): number => {
    const value = text?.trim().toLowerCase() ?? "1";
    if (value === "auto") return Math.max(1, Math.min(WORKERS_MAX, availableParallelism() - 1));
    const count = /^\d+$/.test(value) ? Number(value) : 0;
    if (count >= 1 && count <= WORKERS_MAX) return count;
    context.addIssue({ code: "custom", message: `must be a whole number from 1 to ${WORKERS_MAX}, or auto` });
    return z.NEVER;
  });

const TIMEOUT_MAX_SECS = 86_400;

const seconds = (fallback: number, min: number) =>
  z
    .string()
    .optional()
    .transform((text, context): number => {
      const value = text?.trim() ?? String(fallback);
      const secs = /^\d+$/.test(value) ? Number(value) : Number.NaN;
      if (secs >= min && secs <= TIMEOUT_MAX_SECS) return secs;
      context.addIssue({
        code: "custom",
        message: `must be a whole number of seconds from ${min} to ${TIMEOUT_MAX_SECS}`,
      });
      return z.NEVER;
    });

/** How long requests that were interrupted at the end of a stop may take to be settled. */
export const SETTLE_MS = 5_000;

const databaseUrl = z
  .string()
  .optional()
  .refine(
    (text) =>
      text === undefined ||
      /^pglite:./.test(text) ||
      (URL.canParse(text) && /^postgres(ql)?:$/.test(new URL(text).protocol)),
    "must be a postgres:// URL or pglite:<folder>",
  );

const file = z.string().optional().meta({ values: "a file" });

const ON_LOOPBACK = "on `127.0.0.1` if the admin token is generated";

const token = z
  .string()
  .min(8, "must have at least 8 characters")
  .regex(/^[\x21-\x7e]+$/, "must be printable ASCII without spaces")
  .optional();

const generated = { default: "generated and kept in the data folder" };

/** The variables that the launcher itself reads; the parts read their own. */
export const launcherVariables = {
  ...strictVariables,
  GATEWAY_PROXY_LISTEN: listenAddress({ host: "0.0.0.0", port: 8080 })
    .meta({ values: "`host:port`", default: "`0.0.0.0:8080`" })
    .describe("Address on which the data plane listens."),
  GATEWAY_TLS_CERT_FILE: file.describe(
    "PEM file with the data plane's certificate and chain. If set, the data plane serves HTTPS ([TLS and fronts](docs/tls-and-fronts.md)).",
  ),
  GATEWAY_TLS_KEY_FILE: file.describe("PEM file with the certificate's private key, without a passphrase."),
  GATEWAY_ADMIN_LISTEN: listenAddress(undefined).meta({ default: ON_LOOPBACK }),
  GATEWAY_METRICS_LISTEN: listenAddress(undefined).meta({ default: ON_LOOPBACK }),
  GATEWAY_DASHBOARD_LISTEN: listenAddress(undefined),
  GATEWAY_ADMIN_TOKEN: token.meta(generated),
  GATEWAY_ADMIN_TOKEN_OLD: token,
  GATEWAY_INTERNAL_TOKEN: token,
  GATEWAY_INTERNAL_TOKEN_OLD: token,
  GATEWAY_DATA_DIR: z
    .string()
    .default(".data")
    .meta({ values: "a folder", default: "`.data`" })
    .describe("Folder for the data of the embedded parts and for generated secrets."),
  GATEWAY_WAL_PATH: z
    .string()
    .optional()
    .meta({ values: "a folder", default: "in the data folder" })
    .describe("Storage of this machine's Durable Objects: admission state, and usage rows not yet in ClickHouse."),
  GATEWAY_DATABASE_URL: databaseUrl.meta({ default: "embedded" }),
  GATEWAY_REDIS_URL: envOptionalStoreUrl.meta({ default: "embedded" }),
  GATEWAY_REDIS_TOKEN: z.string().optional(),
  GATEWAY_CLICKHOUSE_URL: envOptionalWebUrl.transform((url) => url ?? undefined).meta({ default: "embedded" }),
  GATEWAY_CLICKHOUSE_USER: z.string().default("default"),
  GATEWAY_CLICKHOUSE_PASSWORD: z.string().default(""),
  GATEWAY_DEMO: flag(false)
    .meta({ values: "on, off", default: "on; in a cluster off" })
    .describe("Creates a demo tenant, key, model and upstream."),
  GATEWAY_DASHBOARD: flag(true).meta({ values: "on, off" }).describe("Serves the [console](docs/run.md#the-console)."),
  GATEWAY_WORKERS: workers
    .meta({ values: `1 to ${WORKERS_MAX}, \`auto\`` })
    .describe("Number of Worker processes: [every core](docs/run.md#every-core)."),
  GATEWAY_START_TIMEOUT_SECS: seconds(300, 1)
    .meta({ values: `1 to ${TIMEOUT_MAX_SECS}` })
    .describe("How long each part can take to become ready before its start fails."),
  GATEWAY_DRAIN_SECS: seconds(30, 0)
    .meta({ values: `0 to ${TIMEOUT_MAX_SECS}` })
    .describe("How long requests under way can finish at a stop ([stop](docs/run.md#stop))."),
};

const schema = z.object(launcherVariables);

/** Names that the gateway and its console read. */
const PASSED_ON = /^(?:GATEWAY_|OTEL_|DASHBOARD_|TRUSTED_ORIGINS$|OIDC_PROVIDERS$)/;
/** Names that the console alone reads: without the console they are passed to no part, because any of them would start it. */
const OF_DASHBOARD = /^(?:(?:GATEWAY_)?DASHBOARD_|TRUSTED_ORIGINS$|OIDC_PROVIDERS$)/;

/** Names that concern the runtime's cluster and the front alone, with secrets or ways to them: no other part gets them. */
const KEPT_BACK = /^GATEWAY_(?:CLUSTER_|TLS_(?:CERT|KEY)_FILE$)/;

/** The variables that are set and not empty. Unknown ones are left out: the launcher has warned about them. */
function present(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const found = Object.entries(env).filter(
    ([name, value]) => PASSED_ON.test(name) && isKnownVariable(name) && value?.trim(),
  );
  return Object.fromEntries(found) as Record<string, string>;
}

/**
 * Passes a line for each variable that no part reads. Throws the control service's EnvError instead if GATEWAY_STRICT_ENV is on.
 */
export function checkStackNames(env: Readonly<Record<string, string | undefined>>, log: (line: string) => void): void {
  checkNames(env, (warning) => log(JSON.stringify({ level: 40, time: new Date().toISOString(), ...warning })));
}

/**
 * Reads the launcher's variables. Throws StackEnvError, which names every malformed variable. `hasControl`: whether a control
 * service is among the parts. `clusterTimeDivisor`: by how much a test divides the runtime's lease.
 */
export function readStackEnv(
  env: Readonly<Record<string, string | undefined>>,
  cwd: string,
  hasControl = true,
  clusterTimeDivisor = 1,
): StackConfig {
  const variables = present(env);
  const parsed = schema.safeParse(variables);
  if (!parsed.success) {
    throw new StackEnvError(parsed.error.issues.map((issue) => `${issue.path.join(".")} ${issue.message}`).join("; "));
  }
  const value = parsed.data;
  const cluster = placeInCluster(variables, value, { hasControl, clusterTimeDivisor });
  const dataDir = resolve(cwd, value.GATEWAY_DATA_DIR);
  // A generated token is known to everyone who can read this machine's files
  // (docs/rules/configuration.md#generated-admin-token).
  const host = value.GATEWAY_ADMIN_TOKEN === undefined ? "127.0.0.1" : "0.0.0.0";
  const config: StackConfig = {
    proxy: value.GATEWAY_PROXY_LISTEN,
    handed: handedSockets(env, hasControl ? ["proxy", ...CONTROL_SOCKETS] : ["proxy"]),
    tls: certificateFiles(value, cwd),
    admin: value.GATEWAY_ADMIN_LISTEN ?? { host, port: 9180 },
    metrics: value.GATEWAY_METRICS_LISTEN ?? { host, port: 9091 },
    dashboardListen: value.GATEWAY_DASHBOARD ? value.GATEWAY_DASHBOARD_LISTEN : undefined,
    adminToken: value.GATEWAY_ADMIN_TOKEN,
    internalToken: value.GATEWAY_INTERNAL_TOKEN,
    adminTokenOld: value.GATEWAY_ADMIN_TOKEN_OLD,
    internalTokenOld: value.GATEWAY_INTERNAL_TOKEN_OLD,
    dataDir,
    objectsVariable: value.GATEWAY_WAL_PATH === undefined ? "GATEWAY_DATA_DIR" : "GATEWAY_WAL_PATH",
    objectsDir:
      value.GATEWAY_WAL_PATH === undefined ? resolve(dataDir, "objects") : resolve(cwd, value.GATEWAY_WAL_PATH),
    databaseUrl: value.GATEWAY_DATABASE_URL ?? `pglite:${resolve(dataDir, "postgres")}`,
    redis: redisChoice(value.GATEWAY_REDIS_URL, value.GATEWAY_REDIS_TOKEN),
    clickhouseUrl: value.GATEWAY_CLICKHOUSE_URL,
    clickhouseUser: value.GATEWAY_CLICKHOUSE_USER,
    clickhousePassword: value.GATEWAY_CLICKHOUSE_PASSWORD,
    demo: variables["GATEWAY_DEMO"] === undefined ? cluster === null : value.GATEWAY_DEMO,
    dashboard: value.GATEWAY_DASHBOARD,
    workers: value.GATEWAY_WORKERS,
    startTimeoutMs: value.GATEWAY_START_TIMEOUT_SECS * 1000,
    drainMs: value.GATEWAY_DRAIN_SECS * 1000,
    cluster,
    variables: Object.fromEntries(
      Object.entries(variables).filter(
        ([name]) => !KEPT_BACK.test(name) && (value.GATEWAY_DASHBOARD || !OF_DASHBOARD.test(name)),
      ),
    ),
  };
  if (hasControl) refuseSharedAddress(config);
  return config;
}

const WILDCARDS: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);

/** Throws StackEnvError for two variables by which two parts would listen on the same address. */
function refuseSharedAddress({ handed, ...config }: StackConfig): void {
  const listening = [
    ["GATEWAY_PROXY_LISTEN", handed.has("proxy") ? undefined : config.proxy],
    ["GATEWAY_ADMIN_LISTEN", handed.has("admin") ? undefined : config.admin],
    ["GATEWAY_METRICS_LISTEN", handed.has("metrics") ? undefined : config.metrics],
    ["GATEWAY_DASHBOARD_LISTEN", handed.has("dashboard") ? undefined : config.dashboardListen],
  ] as const;
  for (const [at, [name, address]] of listening.entries())
    for (const [other, taken] of listening.slice(0, at)) {
      if (address === undefined || address.port === 0 || address.port !== taken?.port) continue;
      if (address.host === taken.host || WILDCARDS.has(address.host) || WILDCARDS.has(taken.host))
        throw new StackEnvError(`${name} and ${other} must not be the same address: give one another port`);
    }
}

/** Throws StackEnvError for settings that a cluster cannot have. */
function placeInCluster(
  variables: Readonly<Record<string, string>>,
  value: z.infer<typeof schema>,
  how: { readonly hasControl: boolean; readonly clusterTimeDivisor: number },
): ClusterConfig | null {
  const found = readCluster(variables, { ...how, hasConsole: value.GATEWAY_DASHBOARD });
  if (found === null) return null;
  const problems = "problems" in found ? [...found.problems] : [];
  if (value.GATEWAY_WORKERS > 1) problems.push("GATEWAY_WORKERS must be 1 in a cluster, which grows by instances");
  if (value.GATEWAY_DEMO)
    problems.push("GATEWAY_DEMO must be off in a cluster: its upstream can only be reached on one machine");
  if ("problems" in found || problems.length > 0) throw new StackEnvError(problems.join("; "));
  return found;
}

function certificateFiles(
  { GATEWAY_TLS_CERT_FILE: cert, GATEWAY_TLS_KEY_FILE: key }: z.infer<typeof schema>,
  cwd: string,
): CertificateFiles | null {
  if (cert === undefined && key === undefined) return null;
  if (cert === undefined) throw new StackEnvError("GATEWAY_TLS_CERT_FILE is required with GATEWAY_TLS_KEY_FILE");
  if (key === undefined) throw new StackEnvError("GATEWAY_TLS_KEY_FILE is required with GATEWAY_TLS_CERT_FILE");
  return { certFile: resolve(cwd, cert), keyFile: resolve(cwd, key) };
}

function redisChoice(url: string | undefined, restToken: string | undefined): RedisChoice {
  if (url === undefined) return { kind: "embedded" };
  if (/^rediss?:/i.test(url)) return { kind: "redis", url };
  if (restToken === undefined)
    throw new StackEnvError("GATEWAY_REDIS_TOKEN is required with an https:// GATEWAY_REDIS_URL");
  return { kind: "rest", url: url.replace(/\/$/, ""), token: restToken };
}
