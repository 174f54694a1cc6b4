/**
 * The composition root of the control service: configuration becomes stores, publisher, applications and jobs.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { lookup } from "node:dns/promises";
import type { Hono } from "hono";
import type { Logger } from "pino";
import { internalTokensOf } from "../shared/crypto/internal-token.ts";
import { CAPTURE_PURPOSE, importSealKey } from "../shared/crypto/seal.ts";
import { AlertPull } from "./alerts/alert-pull.ts";
import { AlertSender } from "./alerts/alert-sender.ts";
import { alertChannels } from "./alerts/configured-channels.ts";
import { ExpiryWatch } from "./alerts/expiry-watch.ts";
import { FailureRates } from "./alerts/failure-rates.ts";
import { OutboxWatch } from "./alerts/outbox-watch.ts";
import { QueueWatch } from "./alerts/queue-watch.ts";
import { liveRoutesOf } from "./api/access.ts";
import { AuthRefusals } from "./api/auth-refusals.ts";
import type { Api } from "./api/types.ts";
import { createApp } from "./app.ts";
import { backupGauges } from "./backup/backup-gauges.ts";
import { BackupSchedule } from "./backup/backup-schedule.ts";
import { identityOf } from "./backup/gateway-identity.ts";
import { sealPlainSecrets } from "./backup/seal-plain-secrets.ts";
import { batchGauges } from "./batches/batch-gauges.ts";
import { BatchRuns } from "./batches/batch-runs.ts";
import { ContentsSweep } from "./batches/files/contents-sweep.ts";
import { LineSender } from "./batches/line-sender.ts";
import { createDashboard } from "./dashboard/app.ts";
import { BUILT_CONSOLE, ConsoleAssets } from "./dashboard/assets.ts";
import { type Connection, embeddedFolder } from "./db/connect.ts";
import { PowerPoll } from "./energy/power-poll.ts";
import type { ControlEnv } from "./env.ts";
import { composeHealth } from "./health/compose-health.ts";
import type { Prober } from "./health/prober.ts";
import { AcceptedTokens } from "./kernel/accepted-tokens.ts";
import { type BuildInfo, readBuildInfo } from "./kernel/build-info.ts";
import { Cells } from "./kernel/cells/cells.ts";
import type { VerbContext } from "./kernel/context.ts";
import { checkEncryptionKey } from "./kernel/encryption/encryption-check.ts";
import { importBackupKey } from "./kernel/encryption/secret-macs.ts";
import { HotStore } from "./kernel/hot-store/hot-store.ts";
import { JobLeases } from "./kernel/jobs/job-leases.ts";
import { JobRuns } from "./kernel/jobs/job-runs.ts";
import type { Job } from "./kernel/jobs/jobs.ts";
import { energySetting } from "./kernel/settings/definitions.ts";
import { readSetting } from "./kernel/settings/setting.ts";
import { StoreWatch } from "./kernel/store-watch.ts";
import { notePeppers } from "./keys/note-peppers.ts";
import { BenchmarkRuns } from "./models/benchmarks/benchmark-runs.ts";
import { readPriceList } from "./models/price-list.ts";
import { erasePlaintext } from "./process/erase-plaintext.ts";
import { certificateGauge } from "./process/metrics/certificate-gauge.ts";
import { diskGauges } from "./process/metrics/disk-gauges.ts";
import { createMetricsApp } from "./process/metrics/listener.ts";
import { openDatabase } from "./process/open-database.ts";
import type { Needs } from "./process/probes.ts";
import { checkSharedSecrets, recordSharedSecrets } from "./process/shared-secrets.ts";
import { composeProvisioner } from "./provisioner/compose-provisioner.ts";
import { ProvisionerCounters } from "./provisioner/jobsched/provisioner-counters.ts";
import { ProvisionerWatch } from "./provisioner/jobsched/provisioner-watch.ts";
import { provisionerGauges } from "./provisioner/provisioner-gauges.ts";
import { readBuiltinRecipes } from "./provisioner/recipes/builtin-recipes.ts";
import { advanceRevisions } from "./publish/advance-revisions.ts";
import { FillWatch } from "./publish/fill-watch.ts";
import { OutboxPublisher } from "./publish/outbox-publisher.ts";
import { Resync } from "./publish/resync.ts";
import { startSync } from "./publish/sync-at-start.ts";
import { scheduledJobs } from "./scheduled-jobs.ts";
import { unfitSettings } from "./settings/list-settings.ts";
import { seedSettings } from "./settings/seed-settings.ts";
import { AnalyticsStore } from "./usage/analytics/store.ts";
import { upstreamRequests } from "./usage/analytics/upstream-requests.ts";

interface Deps {
  readonly build: BuildInfo;
  readonly connection: Connection;
  readonly analytics: AnalyticsStore;
  readonly store: HotStore;
  /**
   * What the migrated database is held to before anything is served: its encryption key is ours, the instances of a cluster have the
   * same secrets, and settings that were never saved take what the environment says. Throws EncryptionKeyError and SharedSecretsError.
   */
  readonly prepare: () => Promise<void>;
  /** Brings every hot copy in line, once; rejects while the store does not answer. */
  readonly syncAtStart: () => Promise<void>;
  readonly app: Api;
  /** The console's server; null: no variable of the console is set. */
  readonly dashboard: Hono | null;
  readonly prober: Prober;
  readonly benchmarks: BenchmarkRuns;
  /** Says to what a request has under way that the service ends. */
  readonly end: () => void;
  readonly metrics: Hono;
  readonly needs: Needs;
  readonly jobs: readonly Job[];
  /** Is told of each of their runs. */
  readonly runs: JobRuns;
  /** Of the jobs that run on one replica. */
  readonly leases: JobLeases;
}

const RESOLVE_WITHIN_MS = 5000;
/** Holder of the leases in a database that only one process can open: after a crash it continues with its own. */
const SOLE_HOLDER = "embedded";
/** The provisioner's calls go to the application itself: the address only completes their URLs. */
const OWN_ADMIN_URL = "http://control.internal";

/** Opens the database and composes the rest. Throws DatabaseLocked and EnvError. */
export async function compose(env: ControlEnv, log: Logger): Promise<Deps> {
  const build = readBuildInfo(process.env);
  const connection = await openDatabase(env.databaseUrl, new StoreWatch("database", log));
  const { db } = connection;
  const { encryptionKey, encryptionKeysOld } = env;
  const sealKey = encryptionKey === undefined ? undefined : await importSealKey(encryptionKey, encryptionKeysOld);
  const captureKey =
    encryptionKey === undefined ? undefined : await importSealKey(encryptionKey, encryptionKeysOld, CAPTURE_PURPOSE);
  const backupKey = encryptionKey === undefined ? undefined : await importBackupKey(encryptionKey, encryptionKeysOld);
  const store = new HotStore(env.redisUrl, env.redisToken, { watch: new StoreWatch("key_store", log) });
  const [internalToken = "", ...oldInternalTokens] = await internalTokensOf(env);
  const cells = new Cells(env.cells, internalToken);
  const publisher = new OutboxPublisher(db, store, cells, log);
  const resync = new Resync(db, store, publisher, log);
  const analytics = new AnalyticsStore(env.clickhouse, log);
  const context = (actor: string, address = ""): VerbContext => ({
    db,
    actor,
    address,
    now: () => new Date(),
    randomBytes: (count) => new Uint8Array(randomBytes(count)),
    sealKey,
    backupKey,
    pepper: env.apiKeyPepper,
    oldPeppers: env.apiKeyPeppersOld,
    ssrf: env.ssrf,
    resolve: resolveHost,
    publisher,
    checkIntervalSecs: env.modelHealth.intervalSecs,
    checkIsDue: () => {
      if (env.modelHealth.enabled) health.prober.wake();
    },
  });
  const consoleUrl = env.dashboard?.publicOrigin ?? null;
  const requestsOf = async (model: string, fromMs: number, untilMs: number) =>
    await upstreamRequests(analytics, model, fromMs, untilMs);
  const sink = new AlertSender({
    db,
    channels: async () => await alertChannels(context("system")),
    rates: new FailureRates(db, env.alerts.failures, requestsOf),
    consoleUrl,
    now: Date.now,
    logger: log,
  });
  const ending = new AbortController();
  const backup = new BackupSchedule({
    ctx: context("system"),
    backup: env.backup,
    databaseFolder: embeddedFolder(env.databaseUrl),
    version: build.version,
    sink,
    cell: env.cell,
    ending: ending.signal,
    log,
  });
  const health = composeHealth({
    ctx: context("system"),
    analytics,
    sink,
    cell: env.cell,
    timeoutMs: env.modelHealth.timeoutMs,
    defaultBase: env.upstreamBaseUrl,
    log,
  });
  const prepare = async (): Promise<void> => {
    const { sharedSecrets, newSharedSecrets } = env;
    if (sharedSecrets !== null && !newSharedSecrets) await checkSharedSecrets(db, sharedSecrets);
    await checkEncryptionKey(db, sealKey);
    if (sharedSecrets !== null) await recordSharedSecrets(db, sharedSecrets, newSharedSecrets);
    await notePeppers(context("system"));
    await advanceRevisions(db);
    const sealed = await sealPlainSecrets(context("system"));
    const sealedNow = Object.keys(sealed).length > 0;
    if (sealedNow) log.info({ event: "secrets_sealed", ...sealed });
    if (sealKey !== undefined) await erasePlaintext(connection, sealedNow, log);
    const { refused } = await seedSettings(context("system"), env.seeds);
    await backup.declare();
    for (const refusal of refused) log.warn({ event: "setting_not_seeded", ...refusal });
    for (const unfit of await unfitSettings({ db })) log.warn({ event: "setting_unfit", ...unfit });
  };
  const fill = new FillWatch({ ctx: context("system"), store, resync, sink, cell: env.cell });
  const sync = startSync(context("system"), resync, { cells, own: env.cell }, log);
  const benchmarks = new BenchmarkRuns({
    ctx: context("system"),
    baseUrl: env.cells.find(({ cell }) => cell === env.cell)?.url ?? "",
    log,
  });
  const batchRuns = new BatchRuns({
    ctx: context("system"),
    sender: new LineSender(env.cells, internalToken),
    store,
    bucket: env.filesBucket,
    usageRetentionDays: env.usageRetentionDays,
    log,
  });
  const { filesBucket: bucket } = env;
  const identity = async (): Promise<string> => await identityOf(db, embeddedFolder(env.databaseUrl));
  const contents = bucket && new ContentsSweep({ db, bucket, identity, now: () => new Date() });
  const replica = connection.exclusive ? SOLE_HOLDER : randomUUID();
  const provisioner = composeProvisioner({
    env: env.provisioner,
    policy: env.ssrf,
    holder: replica,
    adminUrl: OWN_ADMIN_URL,
    adminToken: env.adminToken,
    fetch: async (request) => await app.fetch(request),
    log,
  });
  const jobs = scheduledJobs({
    env,
    ctx: context("system"),
    log,
    publisher,
    resync,
    analytics,
    fill,
    sync,
    watch: new OutboxWatch(async () => await publisher.unconfirmed(), sink, env.cell),
    queues: new QueueWatch(cells, sink, env.alerts.queueWaitMs),
    expiry: new ExpiryWatch(db, store, sink, env.cell),
    alerts: new AlertPull(cells, sink, db, log),
    sink,
    power: new PowerPoll(async () => (await readSetting({ db }, energySetting)).value, store, sink, env.cell),
    backup,
    health,
    benchmarks,
    batches: batchRuns,
    contents,
    provisionerWatch: new ProvisionerWatch(context("system"), env.provisionerHeldAfterMs),
    provisioner,
  });
  const runs = new JobRuns({ replica, log });
  const leases = new JobLeases(db, {
    holder: replica,
    names: jobs.filter(({ replicas }) => replicas === "one").map(({ name }) => name),
    nowMs: () => performance.now(),
    log,
  });
  const provisionerCounters = new ProvisionerCounters();
  const refusals = new AuthRefusals({ log, sink, cell: env.cell, proxies: env.trustedProxies, now: Date.now });
  const app = createApp({
    adminTokens: new AcceptedTokens(env.adminToken, env.adminTokenOld === undefined ? [] : [env.adminTokenOld]),
    internalTokens: new AcceptedTokens(internalToken, oldInternalTokens),
    refusals,
    proxies: env.trustedProxies,
    context,
    analytics,
    cells,
    store,
    captureKey,
    filesBucket: env.filesBucket,
    resync,
    fill,
    prober: health.prober,
    benchmarks,
    ending: ending.signal,
    cell: env.cell,
    consoleUrl,
    groupProviders:
      env.dashboard?.providers.flatMap(({ id, groupsClaim }) => (groupsClaim === null ? [] : [id])) ?? null,
    upstreamBaseUrl: env.upstreamBaseUrl,
    usageRetentionDays: env.usageRetentionDays,
    compressor: env.compressor,
    version: build,
    recipes: readBuiltinRecipes(env.recipesDir, log),
    prices: readPriceList(env.recipesDir, log),
    provisioner: provisionerCounters,
    log,
  });
  const metrics = createMetricsApp({
    cells,
    outbox: async () => await publisher.backlog(),
    runs,
    refusals,
    version: build.version,
    read: [
      ...provisionerCounters.all,
      ...provisionerGauges(db),
      ...backupGauges(db),
      ...batchGauges(db),
      ...diskGauges(env.dataFolders),
      certificateGauge(env.tlsAddress),
    ],
  });
  const dashboard =
    env.dashboard === null
      ? null
      : createDashboard({
          env: env.dashboard,
          db,
          adminToken: env.adminToken,
          management: async (request) => await app.fetch(request),
          routes: liveRoutesOf(app),
          now: () => new Date(),
          randomBytes: (count) => new Uint8Array(randomBytes(count)),
          log,
          assets: ConsoleAssets.read(BUILT_CONSOLE),
        });
  const needs: Needs = { database: async () => await publisher.backlog(), runtimeReadyUrl: env.runtimeReadyUrl };
  const end = (): void => {
    ending.abort();
    batchRuns.end();
    provisioner.end();
  };
  const { prober } = health;
  return {
    build,
    connection,
    analytics,
    store,
    prepare,
    syncAtStart: sync.syncAtStart,
    app,
    dashboard,
    end,
    metrics,
    needs,
    jobs,
    leases,
    runs,
    prober,
    benchmarks,
  };
}

/** Every address of a name; none when it does not resolve, or not in time. */
async function resolveHost(host: string): Promise<readonly string[]> {
  const late = Promise.withResolvers<readonly string[]>();
  const timer = setTimeout(() => late.resolve([]), RESOLVE_WITHIN_MS);
  try {
    const found = lookup(host, { all: true }).then((entries) => entries.map((entry) => entry.address));
    return await Promise.race([found.catch(() => []), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
