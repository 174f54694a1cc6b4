/**
 * An insert that is sent again to an engine that was started again meanwhile reaches every rollup once
 * (docs/rules/storage-layouts.md#analytics-tables): its ledger never learned whether it had arrived.
 *
 * @module-tag check
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterEach, beforeEach, expect, it } from "vitest";
import { AnalyticsStore } from "../../../control/usage/analytics/store.ts";
import { storedRow } from "../../../shared/usage/usage-row.ts";
import { ledgerRow } from "../../../test/harness/ledger.ts";
import { startClickhouseBridge } from "./bridge.ts";
import { openEngine } from "./engine.ts";

const credentials = { user: "default", password: "secret" };
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "gateway-resent-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** Works on the folder with a separate engine. */
async function inOneLife<T>(work: (store: AnalyticsStore, url: string) => Promise<T>): Promise<T> {
  const engine = openEngine(folder, 2);
  const bridge = await startClickhouseBridge({ engine, ...credentials, maxBodyBytes: 1_000_000 });
  const store = new AnalyticsStore({ url: bridge.url, db: "gateway", ...credentials }, pino({ level: "silent" }));
  try {
    return await work(store, bridge.url);
  } finally {
    await store.close();
    await bridge.close();
    await engine.close();
  }
}

/** Inserts the row as a ledger does, which changes no table. */
async function insert(url: string, line: string): Promise<void> {
  const query = new URL(url);
  query.searchParams.set("query", "INSERT INTO gateway.usage_raw FORMAT JSONEachRow");
  query.searchParams.set("insert_deduplication_token", "token");
  const headers = { "x-clickhouse-user": credentials.user, "x-clickhouse-key": credentials.password };
  expect((await fetch(query, { method: "POST", headers, body: line })).status).toBe(200);
}

it("is in the ledger and in both rollups once", async () => {
  const line = JSON.stringify(
    storedRow(ledgerRow(Date.now(), { total_tokens: 7, cache_status: "hit", status_code: 429 })),
  );
  await inOneLife(async (store, url) => {
    await store.migrate();
    await insert(url, line);
  });
  const counted = await inOneLife(async (store, url) => {
    await store.change("ALTER TABLE gateway.usage_raw MODIFY COMMENT '2000-01-01'");
    await insert(url, line);
    const sums = ["usage_raw", "usage_daily", "usage_quarter"].map((table) => {
      const requests = table === "usage_raw" ? "count()" : "sum(requests)";
      const hits = table === "usage_raw" ? "sumIf(total_tokens, cache_status = 'hit')" : "sum(hit_tokens)";
      const refused = table === "usage_raw" ? "countIf(status_code = 429)" : "sum(refused_requests)";
      return `SELECT '${table}' AS table, ${requests} AS requests, sum(total_tokens) AS tokens, ${hits} AS hit_tokens,
        ${refused} AS refused
        FROM gateway.${table}`;
    });
    return await store.rows(`SELECT * FROM (${sums.join(" UNION ALL ")}) ORDER BY table`, {});
  });
  expect(counted).toEqual(
    ["usage_daily", "usage_quarter", "usage_raw"].map((table) => ({
      table,
      requests: 1,
      tokens: 7,
      hit_tokens: 7,
      refused: 1,
    })),
  );
});
