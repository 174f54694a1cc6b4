/**
 * The composition root of the control service: configuration becomes stores, publisher, applications and jobs.
 */
import { randomBytes } from "node:crypto";
import { lookup } from "node:dns/promises";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Hono } from "hono";
import type { Logger } from "pino";
import { importSealKey } from "../shared/seal.ts";
import { AlertPull } from "./alerts/alert-pull.ts";
import { logSink } from "./alerts/alert-sink.ts";
import { AnalyticsStore } from "./analytics/store.ts";
import { createApp } from "./api/app.ts";
import type { Api } from "./api/types.ts";
import { type Connection, connect } from "./db/connect.ts";
import type { ControlEnv } from "./env.ts";
import type { Job } from "./jobs.ts";
import { createMetricsApp } from "./metrics/listener.ts";
import { Cells } from "./publish/cells.ts";
import { KeyStore } from "./publish/key-store.ts";
import { OutboxPublisher } from "./publish/outbox-publisher.ts";
import { Resync } from "./publish/resync.ts";
import type { VerbContext } from "./services/context.ts";

export interface Deps {
  readonly connection: Connection;
  readonly analytics: AnalyticsStore;
  /** Brings every hot copy in line, once; rejects while the store or a cell does not answer. */
  readonly syncAtStart: () => Promise<void>;
  readonly app: Api;
  readonly metrics: Hono;
  readonly jobs: readonly Job[];
}

const OUTBOX_EVERY_MS = 1000;
const COMPARE_EVERY_MS = 300_000;
const PRUNE_EVERY_MS = 3_600_000;
const ANALYTICS_EVERY_MS = 2000;
const ALERTS_EVERY_MS = 3000;

/** Opens the database and composes the rest. Throws DatabaseLocked. */
export async function compose(env: ControlEnv, log: Logger): Promise<Deps> {
  const connection = await connect(env.databaseUrl);
  const { db } = connection;
  const sealKey = env.encryptionKey === undefined ? undefined : await importSealKey(env.encryptionKey);
  const store = new KeyStore(env.redisUrl, env.redisToken);
  const cells = new Cells(env.cells, env.internalToken);
  const publisher = new OutboxPublisher(db, store, cells, log);
  const resync = new Resync(db, store, cells, publisher);
  const alerts = new AlertPull(cells, logSink(log), log);
  const analytics = new AnalyticsStore(env.clickhouse, log);
  const context = (actor: string): VerbContext => ({
    db,
    actor,
    now: () => new Date(),
    randomBytes: (count) => new Uint8Array(randomBytes(count)),
    sealKey,
    pepper: env.apiKeyPepper,
    ssrf: env.ssrf,
    resolve: resolveHost,
    publisher,
  });
  let synced = false;
  const syncAtStart = async (): Promise<void> => {
    if (synced) return;
    log.info({ event: "resync", ...(await resync.all()) });
    synced = true;
  };
  const jobs: Job[] = [
    { name: "outbox", everyMs: OUTBOX_EVERY_MS, run: async () => await publisher.publishDue(new Date()) },
    { name: "analytics_schema", everyMs: ANALYTICS_EVERY_MS, run: async () => await analytics.migrate() },
    { name: "resync_at_start", everyMs: OUTBOX_EVERY_MS, run: syncAtStart },
    { name: "outbox_prune", everyMs: PRUNE_EVERY_MS, run: async () => await publisher.prune() },
    { name: "alerts", everyMs: ALERTS_EVERY_MS, run: async () => await alerts.run() },
    { name: "compare", everyMs: COMPARE_EVERY_MS, run: async () => await resync.differing() },
  ];
  const app = createApp({
    adminToken: env.adminToken,
    context,
    analytics,
    cells,
    store,
    cell: env.cell,
    version: readVersion(),
    log,
  });
  const metrics = createMetricsApp({ cells, outboxPending: async () => await publisher.pending() });
  return { connection, analytics, syncAtStart, app, metrics, jobs };
}

/** Every address of a name; none when it does not resolve. */
async function resolveHost(host: string): Promise<readonly string[]> {
  try {
    return (await lookup(host, { all: true })).map((entry) => entry.address);
  } catch {
    return [];
  }
}

function readVersion(): { version: string; git_sha: string | null; built_at: string | null } {
  const { version } = JSON.parse(readFileSync(join(import.meta.dirname, "../package.json"), "utf8")) as {
    version: string;
  };
  return {
    version,
    git_sha: process.env["GATEWAY_GIT_SHA"] ?? null,
    built_at: process.env["GATEWAY_BUILT_AT"] ?? null,
  };
}
