import { sql } from "drizzle-orm";
import { pino } from "pino";
import { expect, it } from "vitest";
import { memoryBackend } from "../../infra/local/redis/memory-backend.ts";
import { ownPort } from "../../test/harness/own-port.ts";
import { startPostgres } from "../../test/harness/postgres.ts";
import { startRedisServer } from "../../test/harness/redis-protocol.ts";
import { connect } from "../db/connect.ts";
import { AnalyticsStore } from "../usage/analytics/store.ts";
import { HotStore } from "./hot-store/hot-store.ts";
import { JobRuns } from "./jobs/job-runs.ts";
import { StoreWatch } from "./store-watch.ts";

/** A log at the level that the service runs with, and a job that reports what it fails with. */
function watched() {
  const written: string[] = [];
  const log = pino({ base: null, timestamp: false }, { write: (line: string) => void written.push(line) });
  const runs = new JobRuns({ replica: "a", log });
  const fails = async (work: () => Promise<unknown>): Promise<void> => {
    const error = await work().then(
      () => null,
      (failure: unknown) => failure,
    );
    if (error === null) throw new Error("it did not fail");
    runs.report({ name: "outbox", everyMs: 1000 }, { outcome: "failed", durationMs: 1, error });
  };
  return { log, fails, lines: () => written.map((line) => JSON.parse(line) as Record<string, unknown>) };
}

it("reports an unreachable database in one line, however often and by whom it is asked", async () => {
  const { log, fails, lines } = watched();
  const port = await ownPort();
  const connection = await connect(`postgres://u:secret@127.0.0.1:${port}/x`, new StoreWatch("database", log));
  for (let times = 0; times < 3; times += 1) {
    await fails(async () => await connection.db.execute(sql`SELECT ${"value"}`));
    await fails(async () => await connection.db.transaction(async () => undefined));
  }
  await connection.close();
  const reason = `connect ECONNREFUSED 127.0.0.1:${port}: nothing listens there`;
  expect(lines()).toEqual([{ level: 40, event: "database_failed", reason, failures: 1, for_secs: 0 }]);
});

it.each([
  ["REST", "http"],
  ["Redis", "redis"],
])("reports an unreachable key-value store over the %s protocol in one line", async (_, protocol) => {
  const { log, fails, lines } = watched();
  const port = await ownPort();
  const store = new HotStore(`${protocol}://127.0.0.1:${port}`, "t", { watch: new StoreWatch("key_store", log) });
  for (let times = 0; times < 3; times += 1) await fails(async () => await store.get(["key:1"]));
  store.close();
  const reason = `connect ECONNREFUSED 127.0.0.1:${port}: nothing listens there`;
  expect(lines()).toEqual([{ level: 40, event: "key_store_failed", reason, failures: 1, for_secs: 0 }]);
});

it("reports why a key-value store refuses", async () => {
  const { log, fails, lines } = watched();
  const server = await startRedisServer(memoryBackend(), "right");
  const store = new HotStore(server.url.replace("right", "wrong"), "", { watch: new StoreWatch("key_store", log) });
  await fails(async () => await store.get(["key:1"]));
  store.close();
  await server.close();
  expect(lines()).toMatchObject([
    { event: "key_store_failed", reason: expect.stringMatching(/^(?:WRONGPASS|NOAUTH) /) },
  ]);
});

it("reports an unreachable analytics store in one line", async () => {
  const { log, fails, lines } = watched();
  const port = await ownPort();
  const place = { url: `http://127.0.0.1:${port}`, db: "gateway", user: "default", password: "" };
  const store = new AnalyticsStore(place, log);
  for (let times = 0; times < 3; times += 1) await fails(async () => await store.rows("SELECT 1", {}));
  await store.close();
  const reason = `connect ECONNREFUSED 127.0.0.1:${port}: nothing listens there`;
  expect(lines()).toEqual([{ level: 40, event: "analytics_failed", reason, failures: 1, for_secs: 0 }]);
});

it("reports once a minute while a store fails, and once when it answers again", () => {
  const { log, lines } = watched();
  let nowMs = 0;
  const watch = new StoreWatch("database", log, () => nowMs);
  for (; nowMs < 120_000; nowMs += 250) watch.failed(new Error("Connection terminated unexpectedly"));
  for (; nowMs < 240_000; nowMs += 250) watch.answered();
  const failed = { level: 40, event: "database_failed", reason: "Connection terminated unexpectedly" };
  expect(lines()).toEqual([
    { ...failed, failures: 1, for_secs: 0 },
    { ...failed, failures: 241, for_secs: 60 },
    { level: 30, event: "database_available", failures: 480, for_secs: 120 },
  ]);
});

it("reports a database that stops under running work in one line", { tags: ["check"] }, async () => {
  const { log, fails, lines } = watched();
  const postgres = await startPostgres();
  const connection = await connect(postgres.url("postgres"), new StoreWatch("database", log));
  const began = Array.from({ length: 3 }, () => Promise.withResolvers<void>());
  const running = began.map(
    async ({ resolve }) =>
      await fails(
        async () =>
          await connection.db.transaction(async (tx) => {
            await tx.execute(sql`SELECT 1`);
            resolve();
            await tx.execute(sql`SELECT pg_sleep(60)`);
          }),
      ),
  );
  await Promise.all(began.map(async ({ promise }) => await promise));
  await postgres.stop();
  await Promise.all(running);
  for (let times = 0; times < 3; times += 1) await fails(async () => await connection.db.execute(sql`SELECT 1`));
  await connection.close();
  expect(lines()).toMatchObject([{ level: 40, event: "database_failed", failures: 1 }]);
});
