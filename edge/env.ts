/**
 * The Worker's configuration, validated once per isolate (docs/rules/configuration.md#variables): each variable with its
 * effect, its form, and the place of its value in {@link Env}. A malformed variable refuses every request, with a log line that
 * names the variable; no variable turns a check off. This file knows nothing of the platform, so `npm start` and a deployment
 * validate variables by the same rules.
 */
import * as z from "zod";
import { envJwtIssuers } from "../shared/access/jwt-issuers.ts";
import { planeVariables } from "../shared/catalogues/plane-variables.ts";
import { requireOwnCell } from "../shared/env/cells.ts";
import {
  envErrorText,
  envFlag,
  envHeaders,
  envOptionalUrl,
  envOptionalWebUrl,
  envOrigins,
  envPairs,
  envPart,
  envRestStoreUrl,
  envSecret,
  envText,
  envWebUrl,
  envWhole,
} from "../shared/env/env-fields.ts";
import { strictVariables } from "../shared/env/unknown-variables.ts";
import { isSafePath } from "../shared/network/upstream-url.ts";
import { nearestName } from "../shared/text/nearest-name.ts";
import { ADMISSION_PATIENCE_MAX_SECS } from "./cluster/holder-lease.ts";
import { SPILL_MAX_SEGMENTS } from "./domain/ledger/ledger-log.ts";
import { isServedPath, mayBeAdded } from "./domain/request/path-rules.ts";
import { mayConcernSteering, STEERING_NAMES, squashed } from "./domain/request/steering-fields.ts";

/** One day. Timers of the runtime reach little more than 24 days. */
const EXPORT_TIMEOUT_MAX_MS = 86_400_000;
const REALTIME_MAX_SECS = 86_400;

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
  .prefault("")
  .meta({ values: "`hierarchical`, `weighted`" });

/** Whether every registered model is listed. */
const modelsList = envText("allowed")
  .transform((text, context) => {
    if (text === "allowed" || text === "all") return text === "all";
    context.addIssue({ code: "custom", message: "must be allowed or all" });
    return z.NEVER;
  })
  .meta({ values: "`allowed`, `all`" });

/** Whether objects of upstreams that no tenant was given may be named. */
const foreignObjects = envText("refuse")
  .transform((text, context) => {
    if (text === "refuse" || text === "pass") return text === "pass";
    context.addIssue({ code: "custom", message: "must be refuse or pass" });
    return z.NEVER;
  })
  .meta({ values: "`refuse`, `pass`", default: "`refuse`" });

function pathFault(path: string): string | null {
  if (!/^\/[^\s?#\\]+$/.test(path) || !isSafePath(path)) return "is not a plain path that starts with a slash";
  if (!isServedPath(path)) return "has an empty segment, a trailing slash, or a route of the gateway in another case";
  return mayBeAdded(path) ? null : "is an account object, or can be read as another route";
}

/** Exact paths, separated by commas. */
const passthroughPaths = envText("")
  .transform((text, context) => {
    if (text === "") return new Set<string>();
    const paths = text.split(",").map((path) => path.trim());
    const faults = paths.map(pathFault);
    const at = faults.findIndex((fault) => fault !== null);
    if (at === -1) return new Set(paths);
    context.addIssue({
      code: "custom",
      message: `must be a comma-separated list of paths that start with a slash, none of them an account object such as files; entry ${at + 1} ${faults[at]}`,
    });
    return z.NEVER;
  })
  .meta({ values: "exact paths, separated by commas", default: "none" });

/** Names of fields, separated by commas. */
const passthroughFields = envText("")
  .transform((text, context) => {
    const names = text === "" ? [] : text.split(",").map((name) => name.trim());
    const at = names.findIndex((name) => !mayConcernSteering(name));
    if (at === -1) return new Set(names.map(squashed));
    const nearest = nearestName(names[at] ?? "", STEERING_NAMES);
    context.addIssue({
      code: "custom",
      message: `must be a comma-separated list of fields that are refused otherwise; entry ${at + 1} is not one${nearest === null ? "" : `: did you mean ${nearest}?`}`,
    });
    return z.NEVER;
  })
  .meta({ values: "names of fields, separated by commas", default: "none" });

interface Row<Place extends string, Field extends z.ZodType, Value> {
  /** A property of {@link Env}, or a part of one. */
  readonly place: Place;
  readonly field: Field;
  /** The use of the variable's value. */
  readonly of: (value: z.output<Field>) => Value;
}

function to<Place extends string, Field extends z.ZodType>(
  place: Place,
  field: Field,
): Row<Place, Field, z.output<Field>>;
function to<Place extends string, Field extends z.ZodType, Value>(
  place: Place,
  field: Field,
  of: (value: z.output<Field>) => Value,
): Row<Place, Field, Value>;
function to(place: string, field: z.ZodType, of: (value: unknown) => unknown = (value) => value) {
  return { place, field, of };
}

const msOf = (secs: number): number => secs * 1000;

const ROWS = {
  GATEWAY_STRICT_ENV: to("strictEnv", strictVariables.GATEWAY_STRICT_ENV),
  GATEWAY_CELL: to("cell", planeVariables.GATEWAY_CELL),
  GATEWAY_CELLS: to("cells", planeVariables.GATEWAY_CELLS, (cells) => cells ?? []),
  GATEWAY_REDIS_TOKEN: to("redis.token", planeVariables.GATEWAY_REDIS_TOKEN),
  GATEWAY_CLICKHOUSE_URL: to("clickhouse.url", planeVariables.GATEWAY_CLICKHOUSE_URL),
  GATEWAY_CLICKHOUSE_DB: to("clickhouse.db", planeVariables.GATEWAY_CLICKHOUSE_DB),
  GATEWAY_CLICKHOUSE_USER: to("clickhouse.user", planeVariables.GATEWAY_CLICKHOUSE_USER),
  GATEWAY_CLICKHOUSE_PASSWORD: to("clickhouse.password", planeVariables.GATEWAY_CLICKHOUSE_PASSWORD),
  GATEWAY_API_KEY_PEPPER: to("apiKeyPepper", planeVariables.GATEWAY_API_KEY_PEPPER),
  GATEWAY_API_KEY_PEPPERS_OLD: to("apiKeyPeppersOld", planeVariables.GATEWAY_API_KEY_PEPPERS_OLD),
  GATEWAY_ENCRYPTION_KEY: to("encryptionKey", planeVariables.GATEWAY_ENCRYPTION_KEY),
  GATEWAY_ENCRYPTION_KEYS_OLD: to("encryptionKeysOld", planeVariables.GATEWAY_ENCRYPTION_KEYS_OLD),
  GATEWAY_INTERNAL_TOKEN: to("internalToken", planeVariables.GATEWAY_INTERNAL_TOKEN),
  GATEWAY_INTERNAL_TOKEN_OLD: to("internalTokenOld", planeVariables.GATEWAY_INTERNAL_TOKEN_OLD),
  GATEWAY_UPSTREAM_BASE_URL: to("upstreamBaseUrl", planeVariables.GATEWAY_UPSTREAM_BASE_URL),
  GATEWAY_BLOCK_PRIVATE_NETWORKS: to("ssrf.blockPrivate", planeVariables.GATEWAY_BLOCK_PRIVATE_NETWORKS),
  GATEWAY_ALLOWED_PRIVATE_CIDRS: to("ssrf.allowedCidrs", planeVariables.GATEWAY_ALLOWED_PRIVATE_CIDRS),
  GATEWAY_COMPRESSOR_URL: to("compressor.url", planeVariables.GATEWAY_COMPRESSOR_URL),
  GATEWAY_COMPRESSOR_TIMEOUT_MS: to("compressor.timeoutMs", planeVariables.GATEWAY_COMPRESSOR_TIMEOUT_MS),
  GATEWAY_REDIS_URL: to(
    "redis.url",
    envRestStoreUrl
      .meta({ default: "required" })
      .describe(
        "URL of the key-value store. A Worker on Cloudflare needs a REST endpoint (`http(s)://`); `npm start` takes `redis://` too. The control service defaults to `redis://127.0.0.1:6379`.",
      ),
  ),
  GATEWAY_OTEL_ENDPOINT: to(
    "otel.endpoint",
    envOptionalWebUrl.describe(
      "Traces of all requests are exported to `{endpoint}/v1/traces` (OTLP over HTTP, protobuf).",
    ),
  ),
  GATEWAY_OTEL_HEADERS: to(
    "otel.headers",
    envHeaders.describe("HTTP headers of the trace export, such as the collector's API key. A secret."),
  ),
  OTEL_EXPORTER_OTLP_ENDPOINT: to(
    "otel.standardEndpoint",
    envOptionalWebUrl.describe("Used if `GATEWAY_OTEL_ENDPOINT` is unset."),
  ),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: to(
    "otel.tracesUrl",
    envOptionalUrl.describe("Used if `GATEWAY_OTEL_ENDPOINT` is unset: the whole URL, unchanged."),
  ),
  OTEL_EXPORTER_OTLP_HEADERS: to(
    "otel.standardHeaders",
    envHeaders.describe("Used if `GATEWAY_OTEL_HEADERS` is unset. A secret."),
  ),
  OTEL_EXPORTER_OTLP_TIMEOUT: to(
    "otel.timeoutMs",
    envWhole(10_000, 1, EXPORT_TIMEOUT_MAX_MS).describe("Timeout of one trace export, in milliseconds."),
  ),
  OTEL_SERVICE_NAME: to(
    "otel.serviceName",
    envText("").meta({ default: "`gateway`" }).describe("`service.name` of exported spans."),
  ),
  OTEL_RESOURCE_ATTRIBUTES: to(
    "otel.resourceAttributes",
    envPairs.describe("Attributes of the resource of exported spans."),
  ),
  GATEWAY_ADMIN_TOKEN: to("adminToken", envSecret.meta({ default: "required by the control service" })),
  GATEWAY_ADMIN_TOKEN_OLD: to("adminTokenOld", envSecret),
  GATEWAY_UPSTREAM_TIMEOUT_SECS: to(
    "upstreamTimeoutMs",
    envWhole(300).describe(
      "Timeout of one upstream attempt, up to the last byte of the response; of a stream, until its first event and for each silence after it. A model can have its own.",
    ),
    msOf,
  ),
  GATEWAY_STALLED_READER_SECS: to("stalledReaderMs", planeVariables.GATEWAY_STALLED_READER_SECS, msOf),
  GATEWAY_REALTIME_MAX_SECS: to(
    "realtimeMaxMs",
    envWhole(3_600, 1, REALTIME_MAX_SECS).describe(
      "Maximum length of a [realtime session](docs/rules/realtime.md), or of a WebSocket of Responses.",
    ),
    msOf,
  ),
  GATEWAY_END_STREAMS_ON_REVOKE: to(
    "endsStreamsOnRevoke",
    envFlag(true).describe(
      "Whether a change of a key or tenant that refuses it ends its [running requests](docs/rules/keys.md#running-requests) within 5 s; off: they run to their end.",
    ),
  ),
  GATEWAY_ADMISSION_PATIENCE_SECS: to(
    "admissionPatienceMs",
    envWhole(0, 0, ADMISSION_PATIENCE_MAX_SECS).describe(
      "How long a request waits while its [Cell has no owner](docs/rules/admission.md#between-owners).",
    ),
    msOf,
  ),
  GATEWAY_GLOBAL_MAX_IN_FLIGHT: to(
    "globalMaxInFlight",
    envWhole(256).describe(
      "Slots of a cell (requests in flight at once), unless `PUT /api/v1/capacity` sets another number.",
    ),
  ),
  GATEWAY_CELL_HEADROOM: to(
    "cellHeadroom",
    envPart(0.05, 0.5).describe(
      "Fraction of a cell's slots that is kept free for tenants below their share: [headroom](docs/rules/fairshare.md#headroom).",
    ),
  ),
  GATEWAY_MAX_QUEUED_PER_TENANT: to(
    "maxQueuedPerTenant",
    envWhole(10_000, 0).describe(
      "Maximum number of waiting requests of one tenant in a cell; 0: only the cell's limit of 20,000.",
    ),
  ),
  GATEWAY_MAX_BODY_BYTES: to("maxBodyBytes", envWhole(33_554_432).describe("Largest request body in bytes.")),
  // a ledger that had less than one segment could keep nothing
  GATEWAY_LEDGER_SHARDS: to(
    "ledgerShards",
    envWhole(1, 1, SPILL_MAX_SEGMENTS).describe(
      "Number of Ledger objects per cell. They share the work and the cell's storage limits.",
    ),
  ),
  GATEWAY_SESSION_ID_DERIVATION: to(
    "sessionIdDerivation",
    envFlag(true).describe("Off: only session IDs that the client sends are recorded."),
  ),
  GATEWAY_MODELS_LIST: to(
    "listsAllModels",
    modelsList.describe(
      "Which models `GET /v1/models` lists: those that the caller may use, or all that are registered.",
    ),
  ),
  GATEWAY_PASSTHROUGH_PATHS: to(
    "passthroughPaths",
    passthroughPaths.describe(
      "Paths that the gateway forwards too, in addition to inference paths: [what is forwarded](docs/api.md#what-is-forwarded).",
    ),
  ),
  GATEWAY_PASSTHROUGH_FIELDS: to(
    "passthroughFields",
    passthroughFields.describe(
      "Fields of bodies that the gateway forwards although they [steer the upstream](docs/rules/routes.md#fields-that-steer).",
    ),
  ),
  GATEWAY_MODERATION_MODEL: to(
    "moderationModel",
    envText("").describe("The model of `/v1/moderations` for requests that name none; without it they get 400."),
  ),
  GATEWAY_CORS_ORIGINS: to(
    "corsOrigins",
    envOrigins
      .meta({ default: "none" })
      .describe(
        "Origins whose pages may call the data plane from a browser: [from a browser](docs/api.md#from-a-browser).",
      ),
    (origins) => new Set(origins),
  ),
  GATEWAY_FOREIGN_OBJECTS: to(
    "passesForeignObjects",
    foreignObjects.describe(
      "What happens to requests that name a stored answer, file or container that did not come through the gateway: [stored answers](docs/api.md#stored-answers).",
    ),
  ),
  // an answer has up to 1,000 ids, which must not drive out one another
  GATEWAY_STORED_OBJECTS_PER_TENANT: to(
    "storedObjectsPerTenant",
    envWhole(100_000, 1_000, 10_000_000).describe(
      "How many ids of stored answers, of their items and containers, are kept for a tenant, and how many [sessions of MCP servers](docs/rules/mcp.md#sessions); the oldest are forgotten: [stored answers](docs/api.md#stored-answers).",
    ),
  ),
  GATEWAY_RESPONSES_SOCKETS_PER_TENANT: to(
    "responsesSocketsPerTenant",
    envWhole(8, 1, 1_000).describe(
      "How many [WebSockets of Responses](docs/rules/realtime.md#responses-over-a-websocket) of a tenant a Worker holds. Each can take up to 32 MiB of its memory with a message that does not come whole.",
    ),
  ),
  GATEWAY_LOG_GATHER_MS: to(
    "logGatherMs",
    envWhole(0, 0).describe("How long request log lines are collected before they are written; 0: written at once."),
  ),
  GATEWAY_LOG_REQUESTS_PER_SECOND: to(
    "logRequestsPerSecond",
    envWhole(1_000, 0).describe(
      "Above this rate an isolate logs one of 100 requests that succeed: [logs](docs/watch.md#logs); 0: every request.",
    ),
  ),
  GATEWAY_FAIRSHARE_ALGORITHM: to(
    "fairshareAlgorithm",
    algorithm.describe(
      "How slots are divided among tenants: [who gets the next slot](docs/management.md#who-gets-the-next-slot).",
    ),
  ),
  GATEWAY_FAIL_OPEN: to(
    "failOpen",
    envFlag(true).describe(
      "If a tenant's budget object does not answer: on serves requests unchecked, off returns 503.",
    ),
  ),
  GATEWAY_JWT_ISSUERS: to(
    "jwtIssuers",
    envJwtIssuers
      .meta({ values: "a JSON array" })
      .describe("OIDC providers whose tokens applications can send: [identity tokens](docs/api.md#identity-tokens)."),
  ),
  GATEWAY_PROXY_BASE_URL: to(
    "proxyBaseUrl",
    envOptionalWebUrl.meta({ default: "`http://localhost:8080` in the console, else that of each request" }),
  ),
  GATEWAY_INTERNAL_BASE_URL: to(
    "internalBaseUrl",
    envWebUrl("http://127.0.0.1:9180").describe("URL at which the Worker reaches the control service."),
  ),
};

type Rows = typeof ROWS;
type PlaceOf<Name extends keyof Rows> = Rows[Name]["place"];
type ValueOf<Name extends keyof Rows> = ReturnType<Rows[Name]["of"]>;
type Group = PlaceOf<keyof Rows> extends infer Place ? (Place extends `${infer Name}.${string}` ? Name : never) : never;

/** The validated configuration of one isolate, with the places of the table: `redis.url` is a property of `redis`. */
export type Env = {
  readonly [Name in keyof Rows as PlaceOf<Name> extends `${string}.${string}` ? never : PlaceOf<Name>]: ValueOf<Name>;
} & {
  readonly [Of in Group]: {
    readonly [Name in keyof Rows as PlaceOf<Name> extends `${Of}.${infer Part}` ? Part : never]: ValueOf<Name>;
  };
};

/** The variables that the Worker reads, as fields of a schema. */
export const workerVariables = Object.fromEntries(Object.entries(ROWS).map(([name, { field }]) => [name, field])) as {
  readonly [Name in keyof Rows]: Rows[Name]["field"];
};

/** Raised by {@link parseEnv}; its message names each variable and its required form, never its value. */
export class EnvError extends Error {
  override readonly name = "EnvError";
}

const schema = z.object(workerVariables).superRefine(requireOwnCell);

/** Validates text bindings. Throws EnvError. */
export function parseEnv(bindings: object): Env {
  const result = schema.safeParse(bindings);
  if (!result.success) {
    throw new EnvError(envErrorText(result.error));
  }
  const values: Readonly<Record<string, unknown>> = result.data;
  const env: Record<string, unknown> = {};
  for (const [name, { place, of }] of Object.entries<Row<string, z.ZodType, unknown>>(ROWS)) {
    const [property = "", part] = place.split(".");
    const value = of(values[name]);
    env[property] = part === undefined ? value : { ...(env[property] as object | undefined), [part]: value };
  }
  return env as Env;
}
