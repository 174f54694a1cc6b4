/**
 * The Worker's configuration: its bindings, validated once per isolate (docs/rules/configuration.md#variables). A
 * malformed variable refuses every request, with a log line that names the variable; no variable turns a check off.
 */
import * as z from "zod";
import { type CellConfig, requireOwnCell } from "../shared/cells.ts";
import { envErrorText } from "../shared/env-fields.ts";
import type { JwtIssuer } from "../shared/jwt-issuers.ts";
import type { SsrfPolicy } from "../shared/ssrf.ts";
import type { ClickhouseEnv } from "./clickhouse-env.ts";
import { workerVariables } from "./variables.ts";

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

const schema = z.object(workerVariables);

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
