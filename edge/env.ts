/**
 * The Worker's configuration: its bindings, validated once per isolate (docs/rules/configuration.md#variables). A
 * malformed variable refuses every request, with a log line that names the variable; no variable turns a check off.
 */
import * as z from "zod";
import { type CellConfig, envCells, requireOwnCell } from "../shared/cells.ts";
import {
  envCellName,
  envCidrs,
  envDatabaseName,
  envEncryptionKey,
  envErrorText,
  envFlag,
  envOptionalWebUrl,
  envPart,
  envRestStoreUrl,
  envSecret,
  envText,
  envWebUrl,
  envWhole,
} from "../shared/env-fields.ts";
import { envJwtIssuers, type JwtIssuer } from "../shared/jwt-issuers.ts";
import type { SsrfPolicy } from "../shared/ssrf.ts";
import { isSafePath } from "../shared/upstream-url.ts";
import type { ClickhouseEnv } from "./clickhouse-env.ts";
import { ADMISSION_PATIENCE_MAX_SECS } from "./cluster/holder-lease.ts";
import { SPILL_MAX_SEGMENTS } from "./domain/ledger/ledger-log.ts";
import { isPassedThrough, isServedPath } from "./domain/routing/path-rules.ts";

/** What an object belongs to: a region, a shard of a cell (`<cell>:<shard>`), or a tenant. */
export type ObjectKind = "cell" | "ledger" | "budget";

/** The objects of another process. */
export interface RemoteObjects {
  /**
   * Calls a method of an object. Returns and throws what the method does; the caller disposes the capabilities in an
   * answer.
   */
  call(kind: ObjectKind, name: string, method: string, args: readonly unknown[]): Promise<unknown>;
}

/**
 * What the platform hands to the Worker and its objects: text variables and object namespaces. A process whose objects
 * are in another process (docs/rules/local-stack.md#several-processes) has no namespaces, only OBJECTS.
 */
export interface Bindings {
  readonly CELL: DurableObjectNamespace;
  readonly LEDGER: DurableObjectNamespace;
  readonly TENANT_BUDGET: DurableObjectNamespace;
  /** The process that has the objects, and answers the internal routes. */
  readonly OBJECTS?: Fetcher & RemoteObjects;
  /**
   * The network path to upstreams that an admin registered, when it differs from the Worker's own (one machine, private
   * networks blocked).
   */
  readonly UPSTREAMS?: Fetcher;
  /** The version of the Worker that runs, as the platform knows it; absent on one's own machines. */
  readonly VERSION?: { readonly id: string };
  readonly [variable: `GATEWAY_${string}`]: string | undefined;
}

/** One day. Timers of the runtime reach little more than 24 days. */
const STALLED_READER_MAX_SECS = 86_400;
/** One day, as the control service bounds it. */
const COMPRESSOR_TIMEOUT_MAX_MS = 86_400_000;

const algorithm = z
  .string()
  .transform((value, context) => {
    switch (value.trim()) {
      case "":
      case "hierarchical":
      case "group":
      case "groups":
        return "hierarchical" as const;
      case "weighted":
        return "weighted" as const;
      default:
        context.addIssue({ code: "custom", message: "must be weighted or hierarchical" });
        return z.NEVER;
    }
  })
  .prefault("");

/** Exact paths, separated by commas; null when unset. */
const passthroughPaths = envText("").transform((text, context) => {
  const paths = text.split(",").map((path) => path.trim());
  if (text === "") return null;
  const fits = (path: string): boolean =>
    /^\/[^\s?#\\]+$/.test(path) && isSafePath(path) && isServedPath(path) && isPassedThrough(path, null);
  if (paths.every(fits)) return new Set(paths);
  context.addIssue({
    code: "custom",
    message:
      "must be a comma-separated list of paths that start with a slash, none of them an account object such as files",
  });
  return z.NEVER;
});

const schema = z.object({
  GATEWAY_CELL: envText("local").pipe(envCellName),
  GATEWAY_CELLS: envCells,
  GATEWAY_REDIS_URL: envRestStoreUrl,
  GATEWAY_REDIS_TOKEN: envText(""),
  GATEWAY_OTEL_ENDPOINT: envOptionalWebUrl,
  GATEWAY_CLICKHOUSE_URL: envWebUrl("http://127.0.0.1:8123"),
  GATEWAY_CLICKHOUSE_DB: envDatabaseName("gateway"),
  GATEWAY_CLICKHOUSE_USER: envText("default"),
  GATEWAY_CLICKHOUSE_PASSWORD: envText(""),
  GATEWAY_API_KEY_PEPPER: envSecret,
  GATEWAY_ENCRYPTION_KEY: envEncryptionKey,
  GATEWAY_INTERNAL_TOKEN: envSecret,
  GATEWAY_ADMIN_TOKEN: envSecret,
  GATEWAY_UPSTREAM_BASE_URL: envWebUrl("http://127.0.0.1:8081"),
  GATEWAY_UPSTREAM_TIMEOUT_SECS: envWhole(300),
  GATEWAY_STALLED_READER_SECS: envWhole(60, 0).refine(
    (secs) => secs <= STALLED_READER_MAX_SECS,
    `must be at most ${STALLED_READER_MAX_SECS}`,
  ),
  GATEWAY_ADMISSION_PATIENCE_SECS: envWhole(0, 0).refine(
    (secs) => secs <= ADMISSION_PATIENCE_MAX_SECS,
    `must be at most ${ADMISSION_PATIENCE_MAX_SECS}`,
  ),
  GATEWAY_GLOBAL_MAX_IN_FLIGHT: envWhole(256),
  GATEWAY_CELL_HEADROOM: envPart(0.05, 0.5),
  GATEWAY_MAX_QUEUED_PER_TENANT: envWhole(10_000, 0),
  GATEWAY_MAX_BODY_BYTES: envWhole(33_554_432),
  // a ledger that had less than one segment could keep nothing
  GATEWAY_LEDGER_SHARDS: envWhole(1).refine(
    (shards) => shards <= SPILL_MAX_SEGMENTS,
    `must be at most ${SPILL_MAX_SEGMENTS}`,
  ),
  GATEWAY_SESSION_ID_DERIVATION: envFlag(true),
  GATEWAY_PASSTHROUGH_PATHS: passthroughPaths,
  GATEWAY_LOG_GATHER_MS: envWhole(0, 0),
  GATEWAY_FAIRSHARE_ALGORITHM: algorithm,
  GATEWAY_BLOCK_PRIVATE_NETWORKS: envFlag(false),
  GATEWAY_ALLOWED_PRIVATE_CIDRS: envCidrs,
  GATEWAY_FAIL_OPEN: envFlag(true),
  GATEWAY_JWT_ISSUERS: envJwtIssuers,
  GATEWAY_INTERNAL_BASE_URL: envWebUrl("http://127.0.0.1:9180"),
  GATEWAY_COMPRESSOR_URL: envOptionalWebUrl,
  GATEWAY_COMPRESSOR_TIMEOUT_MS: envWhole(800).refine(
    (ms) => ms <= COMPRESSOR_TIMEOUT_MAX_MS,
    `must be at most ${COMPRESSOR_TIMEOUT_MAX_MS}`,
  ),
});

/**
 * The names of the variables that the Worker reads.
 * @exported infra/deploy/worker-rules.ts imports it by a computed name, because its compiler does not know the Worker's globals.
 */
export const VARIABLE_NAMES: readonly string[] = Object.keys(schema.shape);

/** The validated configuration of one isolate. */
export interface Env {
  readonly cell: string;
  /** Every cell that is listed; empty when GATEWAY_CELLS is unset. */
  readonly cells: readonly CellConfig[];
  readonly redis: { readonly url: string; readonly token: string };
  readonly clickhouse: ClickhouseEnv;
  /** Where traces are exported to, without a trailing slash; null: nowhere. */
  readonly otelEndpoint: string | null;
  readonly apiKeyPepper: string | undefined;
  readonly encryptionKey: string | undefined;
  readonly internalToken: string | undefined;
  /** Used only to derive the internal token when none is configured. */
  readonly adminToken: string | undefined;
  readonly upstreamBaseUrl: string;
  readonly upstreamTimeoutMs: number;
  /** How long a client may leave unread what is there for it; 0: without limit. */
  readonly stalledReaderMs: number;
  /** How long a request waits for a Cell that has no owner; 0: it fails at once. */
  readonly admissionPatienceMs: number;
  readonly globalMaxInFlight: number;
  /** The part of a cell's slots that is headroom (docs/rules/fairshare.md#headroom), 0 to 0.5. */
  readonly cellHeadroom: number;
  /** How many requests of one tenant may wait in a cell; 0: as many as the cell's queue takes. */
  readonly maxQueuedPerTenant: number;
  readonly maxBodyBytes: number;
  readonly ledgerShards: number;
  readonly sessionIdDerivation: boolean;
  /**
   * The only undocumented paths that are forwarded; null: every path that may be (docs/rules/routes.md#unknown-paths).
   */
  readonly passthroughPaths: ReadonlySet<string> | null;
  /** Log lines of requests wait this long to be written together; 0: each is written at once. */
  readonly logGatherMs: number;
  readonly fairshareAlgorithm: "weighted" | "hierarchical";
  readonly ssrf: SsrfPolicy;
  /** Whether requests go on unchecked while the budget object is unreachable (docs/rules/budgets.md#unreachable). */
  readonly failOpen: boolean;
  /** The issuers whose identity tokens are accepted (docs/rules/identities.md#checks). */
  readonly jwtIssuers: readonly JwtIssuer[];
  /** The URL of the control service. */
  readonly internalBaseUrl: string;
  /** The compression sidecar; `url` without a trailing slash, null: there is none. */
  readonly compressor: { readonly url: string | null; readonly timeoutMs: number };
}

/** Raised by {@link parseEnv}; its message names each variable and what it must be, never its value. */
export class EnvError extends Error {
  override readonly name = "EnvError";
}

/** Validates text bindings. Throws EnvError. */
export function parseEnv(bindings: object): Env {
  const result = schema.superRefine(requireOwnCell).safeParse(bindings);
  if (!result.success) {
    throw new EnvError(envErrorText(result.error));
  }
  const value = result.data;
  return {
    cell: value.GATEWAY_CELL,
    cells: value.GATEWAY_CELLS ?? [],
    redis: { url: value.GATEWAY_REDIS_URL, token: value.GATEWAY_REDIS_TOKEN },
    otelEndpoint: value.GATEWAY_OTEL_ENDPOINT,
    clickhouse: {
      url: value.GATEWAY_CLICKHOUSE_URL,
      db: value.GATEWAY_CLICKHOUSE_DB,
      user: value.GATEWAY_CLICKHOUSE_USER,
      password: value.GATEWAY_CLICKHOUSE_PASSWORD,
    },
    apiKeyPepper: value.GATEWAY_API_KEY_PEPPER,
    encryptionKey: value.GATEWAY_ENCRYPTION_KEY,
    internalToken: value.GATEWAY_INTERNAL_TOKEN,
    adminToken: value.GATEWAY_ADMIN_TOKEN,
    upstreamBaseUrl: value.GATEWAY_UPSTREAM_BASE_URL,
    upstreamTimeoutMs: value.GATEWAY_UPSTREAM_TIMEOUT_SECS * 1000,
    stalledReaderMs: value.GATEWAY_STALLED_READER_SECS * 1000,
    admissionPatienceMs: value.GATEWAY_ADMISSION_PATIENCE_SECS * 1000,
    globalMaxInFlight: value.GATEWAY_GLOBAL_MAX_IN_FLIGHT,
    cellHeadroom: value.GATEWAY_CELL_HEADROOM,
    maxQueuedPerTenant: value.GATEWAY_MAX_QUEUED_PER_TENANT,
    maxBodyBytes: value.GATEWAY_MAX_BODY_BYTES,
    ledgerShards: value.GATEWAY_LEDGER_SHARDS,
    sessionIdDerivation: value.GATEWAY_SESSION_ID_DERIVATION,
    passthroughPaths: value.GATEWAY_PASSTHROUGH_PATHS,
    logGatherMs: value.GATEWAY_LOG_GATHER_MS,
    fairshareAlgorithm: value.GATEWAY_FAIRSHARE_ALGORITHM,
    ssrf: { blockPrivate: value.GATEWAY_BLOCK_PRIVATE_NETWORKS, allowedCidrs: value.GATEWAY_ALLOWED_PRIVATE_CIDRS },
    failOpen: value.GATEWAY_FAIL_OPEN,
    jwtIssuers: value.GATEWAY_JWT_ISSUERS,
    internalBaseUrl: value.GATEWAY_INTERNAL_BASE_URL,
    compressor: { url: value.GATEWAY_COMPRESSOR_URL, timeoutMs: value.GATEWAY_COMPRESSOR_TIMEOUT_MS },
  };
}
