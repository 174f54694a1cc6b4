/**
 * The control service's configuration, from environment variables only (docs/rules/configuration.md#variables). A
 * missing or malformed variable ends the start with a message that names the variable and what to do; values are never
 * printed.
 */
import { join } from "node:path";
import { z } from "zod";
import { planeVariables } from "../shared/catalogues/plane-variables.ts";
import { requireOwnCell } from "../shared/env/cells.ts";
import {
  envErrorText,
  envFlag,
  envOptionalFlag,
  envOptionalUrl,
  envOptionalWhole,
  envSecret,
  envStoreUrl,
  envText,
  envWebUrl,
  envWhole,
} from "../shared/env/env-fields.ts";
import { strictVariables } from "../shared/env/unknown-variables.ts";
import { MIN_CHECK_INTERVAL_SECS } from "../shared/schema/model.ts";
import { MIN_INTERVAL_SECS_MAX } from "../shared/schema/settings/alerts.ts";
import { CLASSIFIER_TIMEOUT_MS_MAX } from "../shared/schema/settings/auto-router.ts";
import { clearableName } from "../shared/schema/settings/fields.ts";
import { type BackupEnv, backupEnv, backupVariables, requireBackupPlace } from "./backup/backup-env.ts";
import { filesBucket, fileVariables, requireFilesBucket } from "./batches/files/files-env.ts";
import { type DashboardEnv, parseDashboardEnv } from "./dashboard/env.ts";
import type { Bucket } from "./kernel/bucket/bucket.ts";
import type { DataFolder } from "./kernel/disk-room.ts";
import { EnvError, type Listen, listenField, optionalListenField, requiredField } from "./kernel/env-field.ts";
import type { OutboundPolicy } from "./kernel/outbound/guarded-connections.ts";
import { dropUndefined } from "./kernel/parse.ts";
import { type TrustedProxies, trustedProxiesField } from "./kernel/trusted-proxies.ts";
import type { SecretDigests } from "./process/shared-secrets.ts";
import { type ProvisionerEnv, provisionerEnv, provisionerVariables } from "./provisioner/provisioner-env.ts";
import type { SettingSeeds } from "./settings/seed-settings.ts";

export interface ControlEnv {
  readonly adminListen: Listen;
  readonly metricsListen: Listen;
  /** Where the data plane shows its certificate; null: the certificate is not watched. */
  readonly tlsAddress: Listen | null;
  /** The proxies before the Management API. */
  readonly trustedProxies: TrustedProxies;
  readonly adminToken: string;
  /** Undefined: it is derived from the admin token (shared/crypto/internal-token.ts). */
  readonly internalToken: string | undefined;
  /** Tokens that are accepted too. */
  readonly adminTokenOld: string | undefined;
  readonly internalTokenOld: string | undefined;
  readonly databaseUrl: string;
  readonly redisUrl: string;
  readonly redisToken: string;
  readonly clickhouse: { readonly url: string; readonly db: string; readonly user: string; readonly password: string };
  readonly encryptionKey: string | undefined;
  readonly encryptionKeysOld: readonly string[];
  readonly apiKeyPepper: string | undefined;
  readonly apiKeyPeppersOld: readonly string[];
  /**
   * Rules for connections to addresses that admins have registered: which addresses are allowed, and how long a connection
   * is kept.
   */
  readonly ssrf: OutboundPolicy;
  /** The control service's own cell, and every cell that configuration is pushed to. */
  readonly cell: string;
  readonly cells: readonly { readonly cell: string; readonly url: string }[];
  /** Where the runtime of this machine says whether it serves; `""`: unset. */
  readonly runtimeReadyUrl: string;
  /** Of a cluster, the digests of the secrets that all instances have alike; null: they are not compared. */
  readonly sharedSecrets: SecretDigests | null;
  /** The folders of this machine whose disks are watched. */
  readonly dataFolders: readonly DataFolder[];
  /** The operator has changed some of them: those of this instance replace those that are known. */
  readonly newSharedSecrets: boolean;
  /** Started by the launcher: the service exits when the launcher ends. */
  readonly parentWatch: boolean;
  /**
   * How long running requests may take to finish after the signal to stop (docs/rules/configuration.md#variables); the
   * launcher ends all its parts within 10 s.
   */
  readonly drainMs: number;
  /** How long a client may take nothing of its answer; 0: for ever. */
  readonly stalledReaderMs: number;
  readonly usageRetentionDays: number;
  readonly compressor: { readonly url: string; readonly timeoutMs: number };
  /** The upstream of models that have neither an address nor endpoints, without a slash at its end. */
  readonly upstreamBaseUrl: string;
  readonly alerts: {
    readonly failures: { readonly perMinute: number; readonly percent: number };
    /** A longer wait in a queue is reported. */
    readonly queueWaitMs: number;
  };
  readonly modelHealth: {
    /** False: models are checked only on demand. */
    readonly enabled: boolean;
    readonly intervalSecs: number;
    readonly timeoutMs: number;
    readonly retentionDays: number;
  };
  readonly provisioner: ProvisionerEnv;
  /** How long no tick may succeed until the alert is raised, wherever the provisioner runs. */
  readonly provisionerHeldAfterMs: number;
  /** Null: no backup is scheduled. */
  readonly backup: BackupEnv | null;
  /** Null: contents of files are in the database. */
  readonly filesBucket: Bucket | null;
  /** Values of the environment for settings that were never saved. */
  readonly seeds: SettingSeeds;
  /** The folder of the built-in recipes. */
  readonly recipesDir: string;
  /** Null: there is no console. */
  readonly dashboard: DashboardEnv | null;
}

/** Timers are limited to some 24 days and dates to some 270,000 years: no variable may exceed these. */
const DAY_SECS = 86_400;
const KEPT_DAYS_MAX = 36_500;

/** The folder `recipes` beside this service, wherever it was started. */
const RECIPES_DIR = join(import.meta.dirname, "../recipes");

/** As the launcher writes it: `name=digest` or `name=digest+digest`, separated by commas. */
const secretDigests = envText("")
  .refine(
    (text) => text === "" || /^(?:[A-Z_]+=[0-9a-f]{64}(?:\+[0-9a-f]{64})*(?:,(?!$)|$))+$/.test(text),
    "is set by npm start only: unset it",
  )
  .transform((text): SecretDigests | null =>
    text === "" ? null : Object.fromEntries(text.split(",").map((each) => each.split("=") as [string, string])),
  );

/** The variables that the control service reads; those of the console are beside (dashboard/env.ts). */
export const controlVariables = {
  ...strictVariables,
  ...planeVariables,
  ...provisionerVariables,
  ...backupVariables,
  ...fileVariables,
  GATEWAY_ADMIN_LISTEN: listenField("0.0.0.0:9180").describe("Address on which the Management API listens."),
  GATEWAY_METRICS_LISTEN: listenField("0.0.0.0:9091").describe(
    "Address of `/metrics` (for Prometheus) and `/ready` (for orchestrators). No authentication.",
  ),
  GATEWAY_TLS_ADDRESS: optionalListenField
    .meta({ default: "none" })
    .describe(
      "Address at which the metric `gateway_tls_expires_at` reads the data plane's certificate. `npm start` with TLS sets it.",
    ),
  GATEWAY_TRUSTED_PROXIES: trustedProxiesField
    .meta({ default: "none" })
    .describe("Proxies whose [`x-forwarded-*` headers](docs/tls-and-fronts.md#addresses-of-clients) are trusted."),
  GATEWAY_ADMIN_TOKEN: requiredField("is required: set it to a long random string").describe(
    "Token for the Management API. A Worker without `GATEWAY_INTERNAL_TOKEN` derives the internal token from it.",
  ),
  GATEWAY_ADMIN_TOKEN_OLD: envSecret
    .meta({ default: "none" })
    .describe("A second admin token that is accepted: [rotation](docs/rotate.md#the-admin-token)."),
  GATEWAY_DATABASE_URL: envText("postgres://gateway:gateway@127.0.0.1:5432/gateway")
    .refine(
      (value) => value.startsWith("pglite:") || /^postgres(ql)?:\/\//.test(value),
      "must be a postgres:// URL or pglite:<folder>",
    )
    .meta({ values: "`postgres://...`, `pglite:<folder>`" })
    .describe("The PostgreSQL database. Neon (`*.neon.tech`) is supported."),
  GATEWAY_REDIS_URL: envStoreUrl,
  GATEWAY_UPSTREAM_POOL_IDLE_SECS: envWhole(15, 1, DAY_SECS).describe(
    "How long the control service keeps an idle connection to an upstream.",
  ),
  GATEWAY_UPSTREAM_TCP_KEEPALIVE_SECS: envWhole(30, 1, DAY_SECS).describe(
    "Idle time after which the control service sends TCP keep-alive probes to an upstream.",
  ),
  GATEWAY_EDGE_BASE_URL: envWebUrl("http://127.0.0.1:8080").describe(
    "URL at which the control service reaches its own cell.",
  ),
  GATEWAY_RUNTIME_READY_URL: envOptionalUrl.describe(
    "Set by `npm start`: the URL at which `/ready` asks whether this machine's runtime is serving.",
  ),
  GATEWAY_DATA_DIR: envText(""),
  GATEWAY_WAL_PATH: envText(""),
  GATEWAY_SHARED_SECRETS: secretDigests.describe(
    "Set by `npm start` in a cluster: digests of the [shared secrets](docs/cluster.md#secrets-that-all-share).",
  ),
  GATEWAY_NEW_SHARED_SECRETS: envFlag(false).describe(
    "In a cluster: confirms that the [shared secrets](docs/cluster.md#secrets-that-all-share) were changed on purpose.",
  ),
  GATEWAY_PARENT_WATCH: envFlag(false).describe(
    "Set by `npm start`: the control service exits when its parent process does.",
  ),
  // the minimum is one day (docs/rules/configuration.md#variables): 0 counts as one day
  GATEWAY_USAGE_RETENTION_DAYS: envWhole(180, 0, KEPT_DAYS_MAX)
    .transform((days) => Math.max(days, 1))
    .meta({ values: `1 to ${KEPT_DAYS_MAX}` })
    .describe(
      "Days that raw usage rows are kept. Only a default: the setting [usage retention](docs/rules/settings.md#usage-retention) wins.",
    ),
  GATEWAY_MODEL_HEALTH_ENABLED: envFlag(true).describe("Off: models are checked only on demand."),
  GATEWAY_MODEL_HEALTH_INTERVAL_SECS: envWhole(900).describe(
    `Time between health checks of models without their own interval; less than ${MIN_CHECK_INTERVAL_SECS} counts as ${MIN_CHECK_INTERVAL_SECS}.`,
  ),
  GATEWAY_MODEL_HEALTH_TIMEOUT_SECS: envWhole(30, 1, DAY_SECS).describe("Timeout of each attempt of a health check."),
  GATEWAY_MODEL_HEALTH_RETENTION_DAYS: envWhole(30, 1, KEPT_DAYS_MAX).describe("Days that health checks are kept."),
  GATEWAY_RECIPES_DIR: envText(RECIPES_DIR)
    .meta({ default: "`recipes` beside the service" })
    .describe("Folder of the built-in [recipes](docs/recipes.md), read at startup."),
  GATEWAY_PROVISIONER_HELD_AFTER_SECS: envWhole(600, 10, DAY_SECS).describe(
    "Time without a successful tick before the alert `slurm_reconcile_held`. Set it to more than two intervals.",
  ),
  GATEWAY_ALERT_FAILURES_PER_MINUTE: envWhole(3).describe(
    "Alert when so many [requests of a model fail at its upstream](docs/rules/alerts.md#failures-of-upstreams) within a minute.",
  ),
  GATEWAY_ALERT_FAILURE_PERCENT: envWhole(5, 0, 100).describe(
    "Alert when this percentage of a model's requests, and at least two, fail at its upstream within a minute; 0: off.",
  ),
  GATEWAY_ALERT_QUEUE_WAIT_SECS: envWhole(30, 1, DAY_SECS).describe(
    "`queue_wait_long` is raised when requests of a model wait longer than this in a cell for a minute.",
  ),
  GATEWAY_SLACK_WEBHOOK_URL: envOptionalUrl.describe(
    "Chat webhook for alerts. Only an initial value: saved alert settings win.",
  ),
  GATEWAY_SLACK_ALERT_MIN_INTERVAL_SECS: envOptionalWhole(0, MIN_INTERVAL_SECS_MAX)
    .meta({ default: "`300`" })
    .describe("How long repeats of an alert are held back. Only an initial value."),
  GATEWAY_AUTO_CLASSIFIER_ENABLED: envOptionalFlag
    .meta({ default: "off" })
    .describe("Whether the auto router asks its classifier. Only an initial value: saved settings win."),
  GATEWAY_AUTO_CLASSIFIER_MODEL: envText("")
    .refine((name) => clearableName.safeParse(name).success, "must be a model name of at most 300 characters")
    .describe("Classifier model of the auto router. Only an initial value."),
  GATEWAY_AUTO_CLASSIFIER_TIMEOUT_MS: envOptionalWhole(1, CLASSIFIER_TIMEOUT_MS_MAX)
    .meta({ default: "`250`" })
    .describe("Timeout of the auto router's classifier. Only an initial value."),
};

/** Without a current key nothing could be sealed again. */
function requireCurrentKey(
  env: {
    readonly GATEWAY_ENCRYPTION_KEY?: string | undefined;
    readonly GATEWAY_ENCRYPTION_KEYS_OLD: readonly string[];
  },
  context: z.RefinementCtx,
): void {
  if (env.GATEWAY_ENCRYPTION_KEY === undefined && env.GATEWAY_ENCRYPTION_KEYS_OLD.length > 0)
    context.addIssue({
      code: "custom",
      path: ["GATEWAY_ENCRYPTION_KEYS_OLD"],
      message: "needs GATEWAY_ENCRYPTION_KEY",
    });
}

const schema = z
  .object(controlVariables)
  .superRefine(requireOwnCell)
  .superRefine(requireBackupPlace)
  .superRefine(requireFilesBucket)
  .superRefine(requireCurrentKey);

/** The console's part, or what is wrong with it. */
function ofDashboard(variables: Readonly<Record<string, string | undefined>>): DashboardEnv | null | EnvError {
  try {
    return parseDashboardEnv(variables);
  } catch (error) {
    if (error instanceof EnvError) return error;
    throw error;
  }
}

/** Validates the environment. Throws EnvError, which names every malformed variable, also those of the console. */
export function parseEnv(variables: Readonly<Record<string, string | undefined>>): ControlEnv {
  const result = schema.safeParse(variables);
  const dashboard = ofDashboard(variables);
  if (!result.success || dashboard instanceof EnvError) {
    const own = result.success ? [] : [envErrorText(result.error)];
    throw new EnvError([...own, ...(dashboard instanceof EnvError ? [dashboard.message] : [])].join("; "));
  }
  const env = result.data;
  return {
    dashboard,
    adminListen: env.GATEWAY_ADMIN_LISTEN,
    metricsListen: env.GATEWAY_METRICS_LISTEN,
    tlsAddress: env.GATEWAY_TLS_ADDRESS,
    trustedProxies: env.GATEWAY_TRUSTED_PROXIES,
    adminToken: env.GATEWAY_ADMIN_TOKEN,
    internalToken: env.GATEWAY_INTERNAL_TOKEN,
    adminTokenOld: env.GATEWAY_ADMIN_TOKEN_OLD,
    internalTokenOld: env.GATEWAY_INTERNAL_TOKEN_OLD,
    databaseUrl: env.GATEWAY_DATABASE_URL,
    redisUrl: env.GATEWAY_REDIS_URL,
    redisToken: env.GATEWAY_REDIS_TOKEN,
    clickhouse: {
      url: env.GATEWAY_CLICKHOUSE_URL,
      db: env.GATEWAY_CLICKHOUSE_DB,
      user: env.GATEWAY_CLICKHOUSE_USER,
      password: env.GATEWAY_CLICKHOUSE_PASSWORD,
    },
    encryptionKey: env.GATEWAY_ENCRYPTION_KEY,
    encryptionKeysOld: env.GATEWAY_ENCRYPTION_KEYS_OLD,
    apiKeyPepper: env.GATEWAY_API_KEY_PEPPER,
    apiKeyPeppersOld: env.GATEWAY_API_KEY_PEPPERS_OLD,
    ssrf: {
      blockPrivate: env.GATEWAY_BLOCK_PRIVATE_NETWORKS,
      allowedCidrs: env.GATEWAY_ALLOWED_PRIVATE_CIDRS,
      poolIdleMs: env.GATEWAY_UPSTREAM_POOL_IDLE_SECS * 1000,
      tcpKeepAliveMs: env.GATEWAY_UPSTREAM_TCP_KEEPALIVE_SECS * 1000,
    },
    cell: env.GATEWAY_CELL,
    cells: env.GATEWAY_CELLS?.map(({ cell, url }) => ({ cell, url })) ?? [
      { cell: env.GATEWAY_CELL, url: env.GATEWAY_EDGE_BASE_URL },
    ],
    runtimeReadyUrl: env.GATEWAY_RUNTIME_READY_URL,
    sharedSecrets: env.GATEWAY_SHARED_SECRETS,
    dataFolders: (
      [
        { folder: "data", path: env.GATEWAY_DATA_DIR, variable: "GATEWAY_DATA_DIR" },
        { folder: "objects", path: env.GATEWAY_WAL_PATH, variable: "GATEWAY_WAL_PATH" },
      ] as const
    ).filter(({ path }) => path !== ""),
    newSharedSecrets: env.GATEWAY_NEW_SHARED_SECRETS,
    parentWatch: env.GATEWAY_PARENT_WATCH,
    stalledReaderMs: env.GATEWAY_STALLED_READER_SECS * 1000,
    drainMs: env.GATEWAY_PARENT_WATCH ? 5_000 : 30_000,
    usageRetentionDays: env.GATEWAY_USAGE_RETENTION_DAYS,
    compressor: { url: env.GATEWAY_COMPRESSOR_URL ?? "", timeoutMs: env.GATEWAY_COMPRESSOR_TIMEOUT_MS },
    upstreamBaseUrl: env.GATEWAY_UPSTREAM_BASE_URL.replace(/\/+$/, ""),
    modelHealth: {
      enabled: env.GATEWAY_MODEL_HEALTH_ENABLED,
      intervalSecs: Math.max(env.GATEWAY_MODEL_HEALTH_INTERVAL_SECS, MIN_CHECK_INTERVAL_SECS),
      timeoutMs: env.GATEWAY_MODEL_HEALTH_TIMEOUT_SECS * 1000,
      retentionDays: env.GATEWAY_MODEL_HEALTH_RETENTION_DAYS,
    },
    alerts: {
      failures: { perMinute: env.GATEWAY_ALERT_FAILURES_PER_MINUTE, percent: env.GATEWAY_ALERT_FAILURE_PERCENT },
      queueWaitMs: env.GATEWAY_ALERT_QUEUE_WAIT_SECS * 1000,
    },
    recipesDir: env.GATEWAY_RECIPES_DIR,
    provisioner: provisionerEnv(env),
    backup: backupEnv(env),
    filesBucket: filesBucket(env),
    provisionerHeldAfterMs: env.GATEWAY_PROVISIONER_HELD_AFTER_SECS * 1000,
    seeds: {
      alerts: dropUndefined({
        slack_webhook_url: env.GATEWAY_SLACK_WEBHOOK_URL || undefined,
        min_interval_secs: env.GATEWAY_SLACK_ALERT_MIN_INTERVAL_SECS,
      }),
      auto_router: dropUndefined({
        classifier_enabled: env.GATEWAY_AUTO_CLASSIFIER_ENABLED,
        classifier_model: env.GATEWAY_AUTO_CLASSIFIER_MODEL || undefined,
        classifier_timeout_ms: env.GATEWAY_AUTO_CLASSIFIER_TIMEOUT_MS,
      }),
    },
  };
}
