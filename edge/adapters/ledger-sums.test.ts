/** The ledger's sums, against the embedded engine of the analytics store. */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startClickhouseBridge } from "../../infra/local/clickhouse/bridge.ts";
import { type Engine, openEngine } from "../../infra/local/clickhouse/engine.ts";
import type { Listening } from "../../infra/local/listen.ts";
import { call } from "./clickhouse-insert.ts";
import { ledgerSum } from "./ledger-sums.ts";

const TENANT = randomUUID();
const KEY = randomUUID();
const DAY_MS = 86_400_000;
const NOVEMBER = Date.UTC(2026, 10, 1);

let folder: string;
let engine: Engine;
let bridge: Listening;
const store = (db: string) => ({ url: bridge.url, db, user: "default", password: "secret" });
const sum = (db: string, whose: "tenant" | "key", sinceMs: number | null) =>
  ledgerSum(store(db), whose, whose === "tenant" ? TENANT : KEY, sinceMs);

async function createLedger(db: string): Promise<void> {
  const run = (query: string) => call(store("default"), query, {}, null);
  await run(`CREATE DATABASE ${db}`);
  await run(
    `CREATE TABLE ${db}.usage_raw (ts DateTime64(3,'UTC'), tenant_id UUID, key_id UUID, total_tokens UInt64, cost_usd Float64) ENGINE = MergeTree PARTITION BY toYYYYMMDD(ts) ORDER BY ts`,
  );
  await run(
    `CREATE TABLE ${db}.usage_daily (day Date, tenant_id UUID, key_id UUID, total_tokens UInt64, cost_usd Float64) ENGINE = SummingMergeTree PARTITION BY toYYYYMM(day) ORDER BY (day, tenant_id, key_id)`,
  );
  await run(
    `CREATE MATERIALIZED VIEW ${db}.usage_daily_mv TO ${db}.usage_daily AS SELECT toDate(ts) AS day, tenant_id, key_id, sum(total_tokens) AS total_tokens, sum(cost_usd) AS cost_usd FROM ${db}.usage_raw GROUP BY day, tenant_id, key_id`,
  );
}

async function use(db: string, atMs: number, tokens: number, key = KEY): Promise<void> {
  const values = `(fromUnixTimestamp64Milli(${atMs}), '${TENANT}', '${key}', ${tokens}, ${tokens / 1000})`;
  await call(store(db), `INSERT INTO ${db}.usage_raw VALUES ${values}`, {}, null);
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "ledger-sums-"));
  engine = openEngine(folder, 1);
  bridge = await startClickhouseBridge({ engine, user: "default", password: "secret", maxBodyBytes: 1_000_000 });
});
afterAll(async () => {
  await bridge.close();
  engine.close();
  rmSync(folder, { recursive: true, force: true });
});

describe("the ledger's sums", () => {
  it("are those of the rows since the period began", async () => {
    await createLedger("sums");
    expect(await sum("sums", "tenant", NOVEMBER)).toEqual({ tokens: 0, nanoUsd: 0 });
    await use("sums", NOVEMBER - 1, 100);
    await use("sums", NOVEMBER, 7);
    await use("sums", NOVEMBER + DAY_MS, 5, randomUUID());
    expect(await sum("sums", "tenant", NOVEMBER)).toEqual({ tokens: 12, nanoUsd: 12_000_000 });
    expect(await sum("sums", "key", NOVEMBER)).toEqual({ tokens: 7, nanoUsd: 7_000_000 });
    expect(await sum("sums", "tenant", null)).toEqual({ tokens: 112, nanoUsd: 112_000_000 });
    expect(await ledgerSum(store("sums"), "tenant", "' OR 1 = 1", null)).toEqual({ tokens: 0, nanoUsd: 0 });
  });

  it("come from the rollup once rows of the period have been pruned, from the start's day on", async () => {
    await createLedger("pruned");
    await use("pruned", NOVEMBER, 100);
    await use("pruned", NOVEMBER + DAY_MS, 10);
    await use("pruned", NOVEMBER + 2 * DAY_MS, 1);
    await call(store("pruned"), "ALTER TABLE pruned.usage_raw DROP PARTITION 20261101", {}, null);
    expect((await sum("pruned", "tenant", NOVEMBER)).tokens).toBe(111);
    expect((await sum("pruned", "tenant", NOVEMBER + DAY_MS + 3_600_000)).tokens).toBe(1);
    await call(store("pruned"), "TRUNCATE TABLE pruned.usage_raw", {}, null);
    expect((await sum("pruned", "key", null)).tokens).toBe(111);
  });

  it("fail by name when the store does not answer", async () => {
    await expect(sum("missing", "tenant", 0)).rejects.toMatchObject({ name: "StoreFailure" });
  });
});
