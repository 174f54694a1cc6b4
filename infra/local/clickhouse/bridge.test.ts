/** @module-tag check */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { type ClickHouseClient, createClient } from "@clickhouse/client-web";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Listening } from "../http/listen.ts";
import { startClickhouseBridge } from "./bridge.ts";
import { type Engine, openEngine } from "./engine.ts";

const PASSWORD = "secret";
let folder: string;
let engine: Engine;
let bridge: Listening;
let client: ClickHouseClient;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "clickhouse-bridge-"));
  engine = openEngine(folder, 3);
  bridge = await startClickhouseBridge({ engine, user: "default", password: PASSWORD, maxBodyBytes: 20_000_000 });
  client = createClient({
    url: bridge.url,
    username: "default",
    password: PASSWORD,
    compression: { response: true, request: false },
  });
  await client.command({ query: "CREATE DATABASE IF NOT EXISTS gateway" });
});
afterAll(async () => {
  await client.close();
  await bridge.close();
  await engine.close();
  rmSync(folder, { recursive: true, force: true });
});

const rows = async <T>(query: string, query_params: Record<string, unknown> = {}) =>
  (await client.query({ query, query_params, format: "JSONEachRow" })).json<T>();

const post = (
  query: string,
  init: { body?: string | Uint8Array<ArrayBuffer>; headers?: Record<string, string> } = {},
  search = "",
) =>
  fetch(`${bridge.url}/?query=${encodeURIComponent(query)}${search}`, {
    method: "POST",
    headers: { "x-clickhouse-user": "default", "x-clickhouse-key": PASSWORD, ...init.headers },
    ...(init.body === undefined ? {} : { body: init.body }),
  });

describe("the ClickHouse bridge", () => {
  it("answers a ping without the password, and a query only with it", async () => {
    expect((await client.ping()).success).toBe(true);
    for (const headers of [
      {},
      { "x-clickhouse-user": "default" },
      { "x-clickhouse-user": "default", "x-clickhouse-key": "wrong" },
    ]) {
      const response = await fetch(`${bridge.url}/?query=SELECT+1`, { headers });
      expect({
        status: response.status,
        "x-clickhouse-exception-code": response.headers.get("x-clickhouse-exception-code"),
      }).toEqual({ status: 401, "x-clickhouse-exception-code": "516" });
    }
  });

  it("binds parameters of every kind, and forgets them", async () => {
    const tricky = "it's a \\ \"test\"\n\t';--";
    expect(
      await rows(
        "SELECT {s:String} AS s, {n:UInt64} AS n, {a:Array(String)} AS a, {d:DateTime64(3,'UTC')} AS d, {x:Nullable(String)} AS x",
        {
          s: tricky,
          n: "18446744073709551615",
          a: [tricky, "b"],
          d: new Date("2026-01-02T03:04:05.678Z"),
          x: null,
        },
      ),
    ).toEqual([{ s: tricky, n: "18446744073709551615", a: [tricky, "b"], d: "2026-01-02 03:04:05.678", x: null }]);
    await expect(rows("SELECT {s:String} AS s")).rejects.toMatchObject({ code: "456" });
  });

  it("applies a request's settings to that request only", async () => {
    const setting = "SELECT value FROM system.settings WHERE name = 'max_block_size'";
    const before = await rows(setting);
    const changed = await client.query({
      query: setting,
      format: "JSONEachRow",
      clickhouse_settings: { max_block_size: "123" },
    });
    expect(await changed.json()).toEqual([{ value: "123" }]);
    for (let round = 0; round < 8; round += 1) expect(await rows(setting)).toEqual(before);
  });

  it("uses the database of a request for that request only", async () => {
    const inDatabase = await post("SELECT currentDatabase()", {}, "&database=gateway");
    expect(await inDatabase.text()).toBe("gateway\n");
    for (let round = 0; round < 8; round += 1)
      expect(await (await post("SELECT currentDatabase()")).text()).toBe("default\n");
  });

  it("inserts rows, plain and compressed", async () => {
    await client.command({
      query: "CREATE TABLE gateway.plain (id UInt64, text String) ENGINE = MergeTree ORDER BY id",
    });
    await client.insert({ table: "gateway.plain", values: [{ id: "1", text: "a;b'c" }], format: "JSONEachRow" });
    const body = gzipSync('{"id":2,"text":"zipped"}\n');
    const response = await post("INSERT INTO gateway.plain FORMAT JSONEachRow", {
      body,
      headers: { "content-encoding": "gzip" },
    });
    expect({ status: response.status, body: await response.text() }).toEqual({ status: 200, body: "" });
    expect(await rows("SELECT * FROM gateway.plain ORDER BY id")).toEqual([
      { id: "1", text: "a;b'c" },
      { id: "2", text: "zipped" },
    ]);
    const broken = await post("INSERT INTO gateway.plain FORMAT JSONEachRow", { body: '{"id":3}\n{"id":"x"}\n' });
    expect(broken.ok).toBe(false);
    expect(await rows("SELECT count() AS n FROM gateway.plain")).toEqual([{ n: "2" }]);
    const missing = await post("INSERT INTO gateway.nowhere FORMAT JSONEachRow", { body: '{"id":3}\n' });
    expect({
      status: missing.status,
      "x-clickhouse-exception-code": missing.headers.get("x-clickhouse-exception-code"),
    }).toEqual({ status: 404, "x-clickhouse-exception-code": "60" });
  });

  it("drops a replayed insert in the table and in the target of its view", async () => {
    const settings = "SETTINGS non_replicated_deduplication_window = 1000";
    await client.command({
      query: `CREATE TABLE gateway.raw (id UInt64, tokens UInt64) ENGINE = MergeTree ORDER BY id ${settings}`,
    });
    await client.command({
      query: `CREATE TABLE gateway.daily (day Date, tokens UInt64) ENGINE = SummingMergeTree ORDER BY day ${settings}`,
    });
    await client.command({
      query:
        "CREATE MATERIALIZED VIEW gateway.daily_mv TO gateway.daily AS SELECT toDate('2026-01-01') AS day, sum(tokens) AS tokens FROM gateway.raw GROUP BY day",
    });
    const insert = (token: string) =>
      client.insert({
        table: "gateway.raw",
        values: [
          { id: 1, tokens: 10 },
          { id: 2, tokens: 5 },
        ],
        format: "JSONEachRow",
        clickhouse_settings: {
          insert_deduplication_token: token,
          insert_deduplicate: 1,
          deduplicate_blocks_in_dependent_materialized_views: 1,
        },
      });
    for (const token of ["one", "one", "two", "two", "one"]) await insert(token);
    expect(await rows("SELECT count() AS n, sum(tokens) AS tokens FROM gateway.raw")).toEqual([
      { n: "4", tokens: "30" },
    ]);
    expect(await rows("SELECT sum(tokens) AS tokens FROM gateway.daily")).toEqual([{ tokens: "30" }]);
  });

  it("refuses several statements and everything that reaches outside the engine", async () => {
    for (const query of [
      "SELECT 1; SELECT 2",
      "SELECT 1;; DROP DATABASE gateway",
      "SELECT ';'; SELECT 2",
      "SELECT 1 /* ; */ ; SELECT 2",
      "SELECT $$'$$; SELECT '",
      "SELECT 1 # '\n; SELECT '",
      "SELECT `a\\`; SELECT `b`",
      "SELECT '",
    ]) {
      expect({ query, status: (await post(query)).status }).toEqual({ query, status: 400 });
    }
    for (const query of [
      "SELECT * FROM file('/etc/passwd', 'LineAsString')",
      "SELECT * FROM url ('http://127.0.0.1/', CSV)",
      "SELECT * FROM remote('127.0.0.1', system.one)",
      "SELECT * FROM s3('http://x/y')",
      "SELECT * FROM `file` ('/etc/passwd')",
      "SELECT * FROM/**/file/**/('/etc/passwd')",
      "SELECT 1 INTO OUTFILE '/tmp/x'",
      "CREATE TABLE t (a String) ENGINE = URL('http://x', CSV)",
    ]) {
      expect({ query, status: (await post(query)).status }).toEqual({ query, status: 403 });
    }
    expect((await post("CREATE TABLE `gateway`.`quoted` (`file` String) ENGINE = Memory")).status).toBe(200);
    expect(await (await post("SELECT 'file(1); url(2)' AS text -- ; remote(")).text()).toBe("file(1); url(2)\n");
  });

  it("distinguishes errors by code, without ending the engine", async () => {
    const table = await post("SELECT * FROM gateway.nowhere");
    expect({
      status: table.status,
      "x-clickhouse-exception-code": table.headers.get("x-clickhouse-exception-code"),
    }).toEqual({ status: 404, "x-clickhouse-exception-code": "60" });
    expect(await table.text()).toMatch(/^Code: 60\. DB::Exception: .*UNKNOWN_TABLE/s);
    expect((await post("SELEC 1")).status).toBe(400);
    expect((await post("SELECT 1", {}, "&bad-name=1")).status).toBe(400);
    expect((await post("SELECT 1", { body: "x" })).status).toBe(400);
    expect(
      (await fetch(`${bridge.url}/other`, { headers: { authorization: `Basic ${btoa(`default:${PASSWORD}`)}` } }))
        .status,
    ).toBe(404);
    expect(await rows("SELECT 1 AS one")).toEqual([{ one: 1 }]);
  });

  it("never shows rows of a failed query to the next one", async () => {
    let wrong = 0;
    let failed = 0;
    const clients = Array.from({ length: 8 }, async (_, lane) => {
      for (let round = 0; round < 40; round += 1) {
        if ((lane + round) % 3 === 0) {
          const response = await post("SELECT throwIf(number = 100000) FROM numbers(200000)");
          if (!response.ok) failed += 1;
          await response.body?.cancel();
        } else {
          const text = await (await post(`SELECT ${lane}, ${round}, count() FROM numbers(1000)`)).text();
          if (text !== `${lane}\t${round}\t1000\n`) wrong += 1;
        }
      }
    });
    await Promise.all(clients);
    expect({ wrong, failed }).toEqual({ wrong: 0, failed: 107 });
  });
});
