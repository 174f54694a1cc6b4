/**
 * Tables and reads against the real engine with the real bridge.
 *
 * @module-tag check
 */
import { describe, expect, it } from "vitest";
import { usageLogsQuerySchema, usageModelsQuerySchema } from "../../../shared/schema/usage.ts";
import { NIL_UUID, USAGE_COLUMNS, type UsageRow, zeroUsageRow } from "../../../shared/usage/usage-row.ts";
import { KEY, ledgerRow, TestLedger } from "../../../test/harness/ledger.ts";
import { AnalyticsStore } from "./store.ts";
import { type LedgerRow, readLogs } from "./usage-logs.ts";
import { readModelUsage } from "./usage-models.ts";

const NOW = Date.UTC(2026, 0, 2, 12);
const ledger = new TestLedger();
ledger.use();

const row = (change: Partial<UsageRow> = {}): UsageRow => ledgerRow(NOW - 1000, change);
const insert = async (rows: readonly UsageRow[], token?: string): Promise<void> => await ledger.insert(rows, token);

const logs = async (query: Record<string, string> = {}): Promise<readonly LedgerRow[]> =>
  await readLogs(ledger.store, usageLogsQuerySchema.parse(query), NOW);
const ids = async (query: Record<string, string> = {}) => (await logs(query)).map((entry) => entry.request_id);
const models = async (query: Record<string, string> = {}) =>
  await readModelUsage(ledger.store, usageModelsQuerySchema.parse(query), NOW);

/** The columns as the first version made them, in folders that are still in use. They never change. */
const FIRST_COLUMNS = `
  request_id UUID,
  ts DateTime64(3, 'UTC') CODEC(DoubleDelta, ZSTD(1)),
  tenant_id UUID CODEC(ZSTD(1)),
  key_id UUID CODEC(ZSTD(1)),
  model LowCardinality(String),
  request_type LowCardinality(String),
  session_id String CODEC(ZSTD(3)),
  session_id_source LowCardinality(String),
  admission LowCardinality(String),
  cache_status LowCardinality(String),
  cell LowCardinality(String),
  device_id String CODEC(ZSTD(3)),
  weight UInt32 CODEC(T64, ZSTD(1)),
  status_code UInt16 CODEC(T64, ZSTD(1)),
  upstream_status UInt16 CODEC(T64, ZSTD(1)),
  input_tokens UInt64 CODEC(T64, ZSTD(1)),
  output_tokens UInt64 CODEC(T64, ZSTD(1)),
  total_tokens UInt64 CODEC(T64, ZSTD(1)),
  estimated_tokens UInt64 CODEC(T64, ZSTD(1)),
  queue_wait_ms UInt32 CODEC(T64, ZSTD(1)),
  ttft_ms UInt32 CODEC(T64, ZSTD(1)),
  total_ms UInt32 CODEC(T64, ZSTD(1)),
  cost_usd Float64 CODEC(Gorilla, ZSTD(1)),
  energy_wh Float64 CODEC(Gorilla, ZSTD(1)),
  energy_cost_usd Float64 CODEC(Gorilla, ZSTD(1)),
  co2_g Float64 CODEC(Gorilla, ZSTD(1))`;
const ZERO = zeroUsageRow(NIL_UUID, 0);

/** The columns of `usage_raw` in a store, in their order. */
async function columnsOf(store: AnalyticsStore): Promise<readonly string[]> {
  const columns = await store.rows<Record<"name" | "type" | "codec", string>>(
    `SELECT name, type, compression_codec AS codec FROM system.columns
     WHERE database = {db:String} AND table = 'usage_raw' ORDER BY position`,
    { db: store.db },
  );
  // the store writes out what Gorilla is without a number
  return columns.map(({ name, type, codec }) => `${name} ${type} ${codec.replace("Gorilla(8)", "Gorilla")}`.trim());
}

describe("the tables", () => {
  it("are created once, however many callers there are and however often they call", async () => {
    const again = ledger.another();
    await Promise.all([again.migrate(), again.migrate()]);
    const names = await again.rows<{ name: string }>("SELECT name FROM system.tables WHERE database = {db:String}", {
      db: "usage_test",
    });
    expect(names.map(({ name }) => name).sort()).toEqual([
      "spans",
      "usage_daily",
      "usage_daily_hits_mv",
      "usage_daily_mv",
      "usage_daily_outcomes_mv",
      "usage_quarter",
      "usage_quarter_hits_mv",
      "usage_quarter_mv",
      "usage_quarter_outcomes_mv",
      "usage_raw",
    ]);
    await again.close();
  });

  it("count a batch that is sent twice only once, in the rollup too", async () => {
    const batch = [row({ total_tokens: 7 }), row({ total_tokens: 5, status_code: 500 })];
    await insert(batch, "same");
    await insert(batch, "same");
    expect(await logs()).toHaveLength(2);
    expect(
      await ledger.store.rows(
        `SELECT sum(requests) AS requests, sum(success_requests) AS success, sum(error_requests) AS errors,
         sum(failed_requests) AS failed, sum(total_tokens) AS tokens FROM usage_test.usage_daily`,
        {},
      ),
    ).toEqual([{ requests: 2, success: 1, errors: 1, failed: 1, tokens: 12 }]);
  });

  it("have the columns that the row's description says, new or upgraded from the first version", async () => {
    const upgraded = new AnalyticsStore({ ...ledger.place, db: "first_version" }, ledger.log);
    await ledger.run("CREATE DATABASE first_version");
    await ledger.run(`CREATE TABLE first_version.usage_raw (${FIRST_COLUMNS}) ENGINE = MergeTree
      PARTITION BY toYYYYMMDD(ts) ORDER BY (ts, tenant_id, request_id)`);
    const { request_id: old } = row();
    await ledger.run(
      `INSERT INTO first_version.usage_raw (request_id, ts) SELECT '${old}', fromUnixTimestamp64Milli(${NOW - 1000})`,
    );
    const added = USAGE_COLUMNS.flatMap((column) => (column.added ? [column.field] : []));
    const newer = row(Object.fromEntries(added.map((field) => [field, ZERO[field] === "" ? "x" : 2])));
    await upgraded.insertUsage([newer], "token");
    const [first, second] = (await readLogs(upgraded, usageLogsQuerySchema.parse({}), NOW)).toSorted((row) =>
      row.request_id === old ? -1 : 1,
    );
    expect(first).toMatchObject(Object.fromEntries(added.map((field) => [field, ZERO[field]])));
    expect(second).toEqual({ ...newer, has_trace: false });
    const described = USAGE_COLUMNS.map(({ name, type }) => `${name} ${type}`);
    expect({ new: await columnsOf(ledger.store), upgraded: await columnsOf(upgraded) }).toEqual({
      new: described,
      upgraded: described,
    });
    await upgraded.close();
  });

  it("remember as many inserts as busy ledgers make until another one sends again", async () => {
    const tables = await ledger.store.rows<{ engine_full: string }>(
      "SELECT engine_full FROM system.tables WHERE database = {db:String} AND engine LIKE '%MergeTree'",
      { db: ledger.db },
    );
    const windows = tables.map(
      ({ engine_full }) => /non_replicated_deduplication_window = (\d+)/.exec(engine_full)?.[1],
    );
    expect(windows).toEqual(["10000", "10000", "10000", "10000"]);
  });

  it("fold unregistered names into one rollup row, also after an upgrade", async () => {
    const columns = "toDate(ts) AS day, tenant_id, key_id, model, count() AS requests";
    await ledger.run(
      `ALTER TABLE ${ledger.db}.usage_daily_mv MODIFY QUERY SELECT ${columns} FROM ${ledger.db}.usage_raw GROUP BY day, tenant_id, key_id, model`,
    );
    const again = ledger.another();
    await again.migrate();
    await again.close();
    const refused = { admission: "rejected", status_code: 404 } as const;
    await insert([
      row({ ...refused, model: "guess-1" }),
      row({ ...refused, model: "guess-2" }),
      row({ admission: "rejected", status_code: 429 }),
      row({ status_code: 404 }),
    ]);
    const daily = await ledger.store.rows<{ model: string; n: number }>(
      `SELECT model, sum(requests) AS n FROM ${ledger.db}.usage_daily GROUP BY model ORDER BY model`,
      {},
    );
    expect(daily).toEqual([
      { model: "", n: 2 },
      { model: "m", n: 2 },
    ]);
    expect((await logs({ model: "guess-1" })).map((entry) => entry.model)).toEqual(["guess-1"]);
  });

  it("are created again when the store has lost them", async () => {
    await ledger.run("DROP DATABASE usage_test");
    await expect(logs()).rejects.toMatchObject({ code: "analytics_unavailable", status: 503 });
    expect(await logs()).toEqual([]);
  });
});

describe("single requests", () => {
  it("are read as they were written, large numbers as numbers", async () => {
    const written = row({
      ts_ms: NOW - 1,
      session_id: 'it\'s a \\ "session"',
      session_id_source: "client",
      total_tokens: 9_007_199_254_740_991,
      cost_usd: 0.000001,
      upstream_status: 200,
      cell: "local",
    });
    await insert([written]);
    expect(await logs()).toEqual([{ ...written, has_trace: false }]);
  });

  it("are paged newest first, and none in the same millisecond is skipped or repeated", async () => {
    const all = Array.from({ length: 25 }, (_, i) => row({ ts_ms: NOW - 5000 + Math.floor(i / 10) }));
    await insert(all);
    const expected = [...all]
      .sort((a, b) => b.ts_ms - a.ts_ms || (a.request_id < b.request_id ? 1 : -1))
      .map((entry) => entry.request_id);
    const walked: string[] = [];
    let cursor: Record<string, string> = {};
    for (;;) {
      const page = await logs({ limit: "4", ...cursor });
      const last = page.at(-1);
      if (last === undefined) break;
      walked.push(...page.map((entry) => entry.request_id));
      cursor = { before_ms: String(last.ts_ms), before_request_id: last.request_id.toUpperCase() };
    }
    expect(walked).toEqual(expected);
  });

  it("are filtered by every parameter", async () => {
    const plain = row();
    const other = row({
      tenant_id: NIL_UUID,
      key_id: NIL_UUID,
      model: "o'; DROP TABLE usage_raw; --",
      request_type: "embedding",
      session_id: "s",
      status_code: 401,
      error_code: "invalid_api_key",
      admission: "rejected",
      cache_status: "miss",
      cell: "eu",
      total_ms: 70,
      queue_wait_ms: 50,
      ts_ms: NOW - 2000,
    });
    const probe = row({ request_type: "health_probe", ts_ms: NOW - 3000 });
    const old = row({ ts_ms: NOW - 86_400_001, status_code: 302 });
    await insert([plain, other, probe, old]);
    expect(await ids()).toEqual([plain.request_id, other.request_id]);
    expect(await ids({ include_internal: "true" })).toEqual([plain, other, probe].map((entry) => entry.request_id));
    for (const query of [
      { tenant_id: other.tenant_id },
      { key_id: other.key_id },
      { model: other.model },
      { request_type: "embedding" },
      { session_id: "s" },
      { status: "error" },
      { error_code: "invalid_api_key" },
      { admission: "rejected" },
      { cache_status: "miss" },
      { cell: "eu" },
      { min_total_ms: "70" },
      { min_queue_wait_ms: "1" },
      { min_queue_wait_ms: "50", min_total_ms: "60" },
      { until_ms: String(NOW - 2000) },
      { request_id: other.request_id.slice(0, 13).toUpperCase() },
      { request_id: other.request_id },
    ])
      expect({ query, ids: await ids(query) }).toEqual({ query, ids: [other.request_id] });
    for (const query of [{ min_total_ms: "71" }, { min_queue_wait_ms: "999999999999999" }, { error_code: "none" }])
      expect({ query, ids: await ids(query) }).toEqual({ query, ids: [] });
    expect(await ids({ since_ms: "0", status: "success" })).toEqual([plain.request_id, old.request_id]);
    expect(await ids({ since_ms: String(NOW - 1000), until_ms: String(NOW - 1000) })).toEqual([plain.request_id]);
    expect(await ids({ since_ms: "999999999999999" })).toEqual([]);
    expect(await ids({ until_ms: "999999999999999" })).toEqual([plain.request_id, other.request_id]);
  });

  it("say whether they have spans", async () => {
    const traced = row();
    const plain = row({ ts_ms: NOW - 2000 });
    await insert([traced, plain]);
    await ledger.insertSpans([{ request_id: traced.request_id, span_name: "proxy_request", start_ms: NOW - 1500 }]);
    expect((await logs()).map((entry) => entry.has_trace)).toEqual([true, false]);
    expect(await ids({ traced_only: "true" })).toEqual([traced.request_id]);
  });
});

describe("usage per model", () => {
  it("sums, averages over successful rows, and leaves out internal and unauthenticated ones", async () => {
    const success = { input_tokens: 10, output_tokens: 20, total_tokens: 30, cost_usd: 0.1 };
    await insert([
      row({ ...success, ttft_ms: 100, total_ms: 1100 }),
      row({ ...success, ttft_ms: 200, total_ms: 2200, key_id: NIL_UUID }),
      row({ status_code: 500, total_ms: 60_000 }),
      row({ request_type: "benchmark", total_tokens: 1000 }),
      row({ tenant_id: NIL_UUID, key_id: NIL_UUID, status_code: 401 }),
      row({ model: "big", total_tokens: 1000, output_tokens: 40, queue_wait_ms: 50, ttft_ms: 90, total_ms: 100 }),
      row({ model: "big", output_tokens: 5, queue_wait_ms: 100, ttft_ms: 100, total_ms: 100 }),
      row({ model: "big", output_tokens: 5, queue_wait_ms: 100, ttft_ms: 100, total_ms: 100 }),
      row({ model: "zero", status_code: 499 }),
    ]);
    const answer = await models({ since_ms: String(NOW - 10_000) });
    expect(answer.map((entry) => entry.model)).toEqual(["big", "m", "zero"]);
    expect(answer[1]).toEqual({
      model: "m",
      requests: 3,
      input_tokens: 20,
      output_tokens: 40,
      total_tokens: 60,
      cost_usd: 0.2,
      gen_tokens_per_sec: expect.toSatisfy((value: number) => value === 10 || value === 20),
      agg_tokens_per_sec: 4,
      avg_ttft_ms: 150,
      avg_total_ms: 1650,
      p50_ttft_ms: expect.toSatisfy((value: number) => value >= 100 && value <= 200),
      p50_total_ms: expect.toSatisfy((value: number) => value >= 1100 && value <= 2200),
      avg_prompt_tokens: 10,
      avg_gen_tokens: 20,
      users: 1,
    });
    expect(answer[0]).toMatchObject({ gen_tokens_per_sec: 800 });
    expect(answer[2]).toMatchObject({ requests: 1, gen_tokens_per_sec: 0, avg_ttft_ms: 0, p50_total_ms: 0, users: 1 });
    expect(await models({ model: "big" })).toHaveLength(1);
    expect(await models({ tenant_id: KEY })).toEqual([]);
  });
});

describe("a store that is unavailable", () => {
  it("is 503 for every read", async () => {
    const absent = ledger.absent();
    await expect(readLogs(absent, usageLogsQuerySchema.parse({}), NOW)).rejects.toMatchObject({ status: 503 });
    await expect(readModelUsage(absent, usageModelsQuerySchema.parse({}), NOW)).rejects.toMatchObject({
      code: "analytics_unavailable",
    });
    await absent.close();
  });
});
