/**
 * A control service of a test's own, without listeners: a database of its own of the kind the vitest project names, the
 * real key-value bridge, and a cell's internal routes as an HTTP sink that can be told to fail.
 */
import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { pino } from "pino";
import { AnalyticsStore } from "../../control/analytics/store.ts";
import { createApp } from "../../control/api/app.ts";
import type { Api } from "../../control/api/types.ts";
import { type Connection, connect } from "../../control/db/connect.ts";
import { migrate } from "../../control/db/migrate.ts";
import { Cells } from "../../control/publish/cells.ts";
import { KeyStore } from "../../control/publish/key-store.ts";
import { OutboxPublisher } from "../../control/publish/outbox-publisher.ts";
import { Resync } from "../../control/publish/resync.ts";
import type { VerbContext } from "../../control/services/context.ts";
import { startRedisBridge } from "../../infra/local/redis/bridge.ts";
import { memoryBackend } from "../../infra/local/redis/memory-backend.ts";
import { type Change, invalidateBodySchema, type RevItem, revItemSchema } from "../../shared/internal.ts";
import { importSealKey } from "../../shared/seal.ts";
import { newDatabase } from "./control-database.ts";

export const ADMIN_TOKEN = "admin-token-of-a-test";

export interface TestControl {
  readonly connection: Connection;
  readonly app: Api;
  readonly ctx: VerbContext;
  readonly store: KeyStore;
  readonly publisher: OutboxPublisher;
  readonly resync: Resync;
  /** What the cell was told: the changed records, and those that came with values for its scheduler. */
  readonly cell: { readonly items: RevItem[]; readonly changes: Change[]; fail: boolean };
  /** Sends a request with the admin token and a JSON body. */
  request(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>;
  /** Stops and starts the key-value store's listener. */
  stopStore(): Promise<void>;
  close(): Promise<void>;
}

/** Starts everything on free ports. */
export async function startControl(): Promise<TestControl> {
  const log = pino({ level: "silent" });
  const connection = await connect(await newDatabase());
  await migrate(connection);
  const bridge = await startRedisBridge({ backend: memoryBackend(), token: "t" });
  const cell: TestControl["cell"] = { items: [], changes: [], fail: false };
  const sink = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk: Buffer) => {
      text += chunk.toString();
    });
    request.on("end", () => {
      if (cell.fail) return void response.writeHead(500).end();
      const { items } = invalidateBodySchema.parse(JSON.parse(text));
      cell.items.push(...items.map((item) => revItemSchema.parse(item)));
      cell.changes.push(...items.filter((item) => Object.keys(item).length > 3));
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => sink.listen(0, "127.0.0.1", resolve));
  const cells = new Cells(
    [{ cell: "local", url: `http://127.0.0.1:${(sink.address() as AddressInfo).port}` }],
    "internal",
  );
  const store = new KeyStore(bridge.url, "t");
  const publisher = new OutboxPublisher(connection.db, store, cells, log);
  const sealKey = await importSealKey(randomBytes(32).toString("base64"));
  const context = (actor: string): VerbContext => ({
    db: connection.db,
    actor,
    now: () => new Date(),
    randomBytes: (count) => new Uint8Array(randomBytes(count)),
    sealKey,
    pepper: undefined,
    ssrf: { blockPrivate: false, allowedCidrs: [] },
    resolve: async () => [],
    publisher,
  });
  const analytics = new AnalyticsStore(
    { url: "http://127.0.0.1:9", db: "gateway", user: "default", password: "" },
    log,
  );
  const app = createApp({
    adminToken: ADMIN_TOKEN,
    context,
    analytics,
    cells,
    store,
    cell: "local",
    version: { version: "0.0.0", git_sha: null, built_at: null },
    log,
  });
  let storeStopped = false;
  const stopStore = async (): Promise<void> => {
    if (storeStopped) return;
    storeStopped = true;
    await bridge.close();
  };
  return {
    connection,
    app,
    ctx: context("admin"),
    store,
    publisher,
    resync: new Resync(connection.db, store, cells, publisher),
    cell,
    request: async (method, path, body, headers = {}) =>
      await app.request(path, {
        method,
        headers: { authorization: `Bearer ${ADMIN_TOKEN}`, ...headers },
        ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
      }),
    stopStore,
    close: async () => {
      await stopStore();
      await new Promise((resolve) => sink.close(resolve));
      sink.closeAllConnections();
      await connection.close();
    },
  };
}
