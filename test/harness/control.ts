/**
 * A control service of a test's own, without listeners: a database of its own, of the kind that the vitest project chooses;
 * the real key-value bridge; and an HTTP server in place of a cell's internal routes, which a test can make fail.
 */
import { randomBytes } from "node:crypto";
import { pino } from "pino";
import { AuthRefusals } from "../../control/api/auth-refusals.ts";
import { createApp } from "../../control/app.ts";
import { type Connection, connect } from "../../control/db/connect.ts";
import { migrate } from "../../control/db/migrate.ts";
import { composeHealth } from "../../control/health/compose-health.ts";
import { AcceptedTokens } from "../../control/kernel/accepted-tokens.ts";
import type { AlertSink, RaisedAlert } from "../../control/kernel/alert-sink.ts";
import type { Bucket } from "../../control/kernel/bucket/bucket.ts";
import { Cells } from "../../control/kernel/cells/cells.ts";
import type { VerbContext } from "../../control/kernel/context.ts";
import { importBackupKey } from "../../control/kernel/encryption/secret-macs.ts";
import { HotStore } from "../../control/kernel/hot-store/hot-store.ts";
import { TrustedProxies } from "../../control/kernel/trusted-proxies.ts";
import { BenchmarkRuns } from "../../control/models/benchmarks/benchmark-runs.ts";
import { ProvisionerCounters } from "../../control/provisioner/jobsched/provisioner-counters.ts";
import { FillWatch } from "../../control/publish/fill-watch.ts";
import { OutboxPublisher } from "../../control/publish/outbox-publisher.ts";
import { Resync } from "../../control/publish/resync.ts";
import { AnalyticsStore } from "../../control/usage/analytics/store.ts";
import { startRedisBridge } from "../../infra/local/redis/bridge.ts";
import { memoryBackend } from "../../infra/local/redis/memory-backend.ts";
import { CAPTURE_PURPOSE, importSealKey } from "../../shared/crypto/seal.ts";
import { setCapacitySchema } from "../../shared/schema/load.ts";
import type { ListedPrice } from "../../shared/schema/price-list.ts";
import type { Recipe } from "../../shared/schema/recipe.ts";
import {
  type Change,
  INTERNAL_PATHS,
  invalidateBodySchema,
  type RevItem,
  revItemSchema,
} from "../../shared/wire/internal.ts";
import { rebuildBodySchema } from "../../shared/wire/internal-budgets.ts";
import { EMBEDDED, newDatabase } from "./control-database.ts";
import { openDatabaseCopy } from "./database-template.ts";
import { jsonAnswer, startHttpSink } from "./http-sink.ts";

export const ADMIN_TOKEN = "admin-token-of-a-test";
export const INTERNAL_TOKEN = "internal-token-of-a-test";

type Places = Awaited<ReturnType<typeof startPlaces>>;

export type TestControl = Awaited<ReturnType<typeof startControl>>;

/** How the service differs from the usual one: an encryption key of its own, no pepper, the permissive address policy. */
export interface ControlOptions {
  /**
   * This one is a replica of that service: the same database, store and cell, but other connections. Not possible on
   * PGlite, which has one connection.
   */
  readonly beside?: { readonly places: Places };
  /** The address at which this service reaches the key-value store, when it is not the store's own. */
  readonly storeUrl?: string;
  /** Base64 of 32 bytes; null for a service without encryption. */
  readonly encryptionKey?: string | null;
  readonly pepper?: string;
  readonly oldKeys?: readonly string[];
  readonly oldPeppers?: readonly string[];
  readonly oldAdminTokens?: readonly string[];
  readonly ssrf?: VerbContext["ssrf"];
  readonly resolve?: VerbContext["resolve"];
  readonly now?: VerbContext["now"];
  readonly checkIsDue?: VerbContext["checkIsDue"];
  /** Absent: an analytics store at an address where no server listens. */
  readonly analytics?: AnalyticsStore;
  readonly probeTimeoutMs?: number;
  /** Absent: contents of files are in the database. */
  readonly filesBucket?: Bucket;
  /**
   * How long store and cell have to answer, and a write waits for them; absent: a minute, because a busy machine may not keep the
   * second of the product.
   */
  readonly answerWithinMs?: number;
  /** Absent: an address where no server listens. */
  readonly upstreamBaseUrl?: string;
  /** The data plane to which benchmarks go; absent: an address where no server listens. */
  readonly dataPlaneUrl?: string;
  /** The built-in recipes; absent: none. */
  readonly recipes?: readonly Recipe[];
  /** The console's providers that name groups; absent: the console runs elsewhere. */
  readonly groupProviders?: readonly string[];
  /** The price list; absent: an empty one. */
  readonly prices?: readonly ListedPrice[];
}

export async function startControl(options: ControlOptions = {}) {
  const log = pino({ level: "silent" });
  const places = options.beside?.places ?? (await startPlaces());
  const connection = await openMigrated(places.databaseUrl);
  const answerWithinMs = options.answerWithinMs ?? 60_000;
  const cells = new Cells([{ cell: "local", url: places.cellUrl }], "internal", answerWithinMs);
  const store = new HotStore(options.storeUrl ?? places.storeUrl, "t", { deadlineMs: answerWithinMs });
  const publisher = new OutboxPublisher(connection.db, store, cells, log, answerWithinMs);
  const encryptionKey = options.encryptionKey === undefined ? newEncryptionKey() : options.encryptionKey;
  const { oldKeys = [] } = options;
  const sealKey = encryptionKey === null ? undefined : await importSealKey(encryptionKey, oldKeys);
  const backupKey = encryptionKey === null ? undefined : await importBackupKey(encryptionKey, oldKeys);
  const context = (actor: string, address = ""): VerbContext => ({
    db: connection.db,
    actor,
    address,
    now: options.now ?? (() => new Date()),
    randomBytes: (count) => new Uint8Array(randomBytes(count)),
    sealKey,
    backupKey,
    pepper: options.pepper,
    oldPeppers: options.oldPeppers ?? [],
    ssrf: options.ssrf ?? { blockPrivate: false, allowedCidrs: [] },
    resolve: options.resolve ?? (async () => []),
    publisher,
    checkIntervalSecs: 900,
    checkIsDue: options.checkIsDue ?? (() => undefined),
  });
  const analytics =
    options.analytics ??
    new AnalyticsStore({ url: "http://127.0.0.1:9", db: "gateway", user: "default", password: "" }, log);
  const alerts: RaisedAlert[] = [];
  const sink: AlertSink = {
    take: async (taken, also) => {
      if (also !== undefined) await connection.db.transaction(also);
      alerts.push(...taken);
    },
  };
  const { prober } = composeHealth({
    ctx: context("system"),
    analytics,
    sink,
    cell: "local",
    timeoutMs: options.probeTimeoutMs ?? 5000,
    defaultBase: options.upstreamBaseUrl ?? "http://127.0.0.1:9",
    log,
  });
  const resync = new Resync(connection.db, store, publisher, log);
  const fill = new FillWatch({ ctx: context("system"), store, resync, sink, cell: "local" });
  const benchmarks = new BenchmarkRuns({
    ctx: context("system"),
    baseUrl: options.dataPlaneUrl ?? "http://127.0.0.1:9",
    log,
  });
  const ending = new AbortController();
  const refusals = new AuthRefusals({
    log,
    sink: { take: async () => undefined },
    cell: "local",
    proxies: new TrustedProxies([]),
    now: Date.now,
    sleep: async () => undefined,
  });
  const provisioner = new ProvisionerCounters();
  const app = createApp({
    adminTokens: new AcceptedTokens(ADMIN_TOKEN, options.oldAdminTokens ?? []),
    internalTokens: new AcceptedTokens(INTERNAL_TOKEN, []),
    refusals,
    proxies: new TrustedProxies([]),
    context,
    analytics,
    cells,
    store,
    captureKey: encryptionKey === null ? undefined : await importSealKey(encryptionKey, oldKeys, CAPTURE_PURPOSE),
    filesBucket: options.filesBucket ?? null,
    resync,
    fill,
    prober,
    consoleUrl: null,
    groupProviders: options.groupProviders ?? null,
    benchmarks,
    ending: ending.signal,
    cell: "local",
    upstreamBaseUrl: "http://127.0.0.1:9",
    usageRetentionDays: 180,
    compressor: { url: "", timeoutMs: 800 },
    version: { version: "0.0.0", git_sha: null, built_at: null },
    recipes: options.recipes ?? [],
    prices: options.prices ?? [],
    provisioner,
    log,
  });
  const request = async (
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Response> =>
    await app.request(path, {
      method,
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, ...headers },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
  return {
    connection,
    app,
    ctx: context("admin"),
    store,
    publisher,
    resync,
    fill,
    /** The health prober; it runs only when a test calls it. */
    prober,
    benchmarks,
    /** The alerts that the prober's checks have raised. */
    alerts: alerts as readonly RaisedAlert[],
    provisioner,
    /** What the cell received: the changed records, and those with values for its scheduler. */
    cell: places.cell,
    request,
    /** A request below `/api/v1` that must succeed. Throws for a refusal. */
    must: async <T>(method: string, path: string, body?: unknown): Promise<T> => {
      const response = await request(method, `/api/v1${path}`, body);
      const text = await response.text();
      if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
      return (text === "" ? null : JSON.parse(text)) as T;
    },
    /** Signals to running requests that the service ends. */
    end: (): void => ending.abort(),
    stopStore: async (): Promise<void> => await places.stopStore(),
    places,
    close: async (): Promise<void> => {
      await prober.stop();
      await benchmarks.stop();
      if (options.beside === undefined) await places.close();
      await connection.close();
    },
  };
}

export function newEncryptionKey(): string {
  return randomBytes(32).toString("base64");
}

async function openMigrated(databaseUrl: string): Promise<Connection> {
  if (databaseUrl === EMBEDDED) return await openDatabaseCopy();
  const connection = await connect(databaseUrl);
  await migrate(connection);
  return connection;
}

/** Until another capacity is set. */
const CELL_SLOTS = 1;

async function startPlaces() {
  const databaseUrl = await newDatabase();
  const bridge = await startRedisBridge({ backend: memoryBackend(), token: "t" });
  const cell = { items: [] as RevItem[], changes: [] as Change[], fail: false, losesCapacityAnswers: false };
  let slots = CELL_SLOTS;
  const sink = await startHttpSink(({ url, body }) => {
    if (cell.fail) return { status: 500 };
    if (url === INTERNAL_PATHS.budgetRebuild)
      return jsonAnswer({ rebuilt: rebuildBodySchema.parse(JSON.parse(body)).subjects.length });
    if (url === INTERNAL_PATHS.capacity) slots = setCapacitySchema.parse(JSON.parse(body)).max_in_flight ?? CELL_SLOTS;
    if (url === INTERNAL_PATHS.capacity && cell.losesCapacityAnswers) return { status: 500 };
    if (url === INTERNAL_PATHS.stats || url === INTERNAL_PATHS.capacity)
      return jsonAnswer({ cell: "local", in_flight: 0, queued: 0, max_in_flight: slots });
    if (url !== INTERNAL_PATHS.invalidate) return { status: 404 };
    const { items } = invalidateBodySchema.parse(JSON.parse(body));
    cell.items.push(...items.map((item) => revItemSchema.parse(item)));
    cell.changes.push(...items.filter((item) => Object.keys(item).length > 3));
    return { status: 204 };
  });
  let storeStopped = false;
  const stopStore = async (): Promise<void> => {
    if (storeStopped) return;
    storeStopped = true;
    await bridge.close();
  };
  return {
    databaseUrl,
    storeUrl: bridge.url,
    cellUrl: sink.url,
    cell,
    stopStore,
    close: async (): Promise<void> => {
      await stopStore();
      await sink.close();
    },
  };
}
