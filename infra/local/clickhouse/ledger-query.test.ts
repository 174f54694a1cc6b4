/** The ledger's sums, against the embedded engine of the analytics store. */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ledgerQuery, readLedgerAnswer } from "../../../edge/domain/budget/ledger-query.ts";
import type { Listening } from "../http/listen.ts";
import { startClickhouseBridge } from "./bridge.ts";
import { type Engine, openEngine } from "./engine.ts";

const TENANT = randomUUID();
const KEY = randomUUID();
const DAY_MS = 86_400_000;
const NOVEMBER = Date.UTC(2026, 10, 1);

let folder: string;
let engine: Engine;
let bridge: Listening;

async function run(body: string): Promise<string> {
  const headers = { "x-clickhouse-user": "default", "x-clickhouse-key": "secret" };
  const response = await fetch(bridge.url, { method: "POST", headers, body });
  if (!response.ok) throw new Error(await response.text());
  return response.text();
}

async function sum(db: string, whose: "tenant" | "key", sinceMs: number | null, untilMs = NOVEMBER + 9 * DAY_MS) {
  return readLedgerAnswer(await run(ledgerQuery(db, whose, whose === "tenant" ? TENANT : KEY, sinceMs, untilMs) ?? ""));
}

async function createLedger(db: string): Promise<void> {
  await run(`CREATE DATABASE ${db}`);
  await run(
    `CREATE TABLE ${db}.usage_raw (ts DateTime64(3,'UTC'), tenant_id UUID, key_id UUID, request_type String, total_tokens UInt64, cost_usd Float64) ENGINE = MergeTree PARTITION BY toYYYYMMDD(ts) ORDER BY ts`,
  );
  await run(
    `CREATE TABLE ${db}.usage_daily (day Date, tenant_id UUID, key_id UUID, total_tokens UInt64, cost_usd Float64) ENGINE = SummingMergeTree PARTITION BY toYYYYMM(day) ORDER BY (day, tenant_id, key_id)`,
  );
  await run(
    `CREATE MATERIALIZED VIEW ${db}.usage_daily_mv TO ${db}.usage_daily AS SELECT toDate(ts) AS day, tenant_id, key_id, sum(total_tokens) AS total_tokens, sum(cost_usd) AS cost_usd FROM ${db}.usage_raw WHERE request_type != 'benchmark' GROUP BY day, tenant_id, key_id`,
  );
}

async function use(db: string, atMs: number, tokens: number, key = KEY, type = "chat"): Promise<void> {
  const own = `'${TENANT}', '${key}', '${type}'`;
  const values = `(fromUnixTimestamp64Milli(${atMs}), ${own}, ${tokens}, ${tokens / 1000})`;
  await run(`INSERT INTO ${db}.usage_raw VALUES ${values}`);
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
  });

  it("come from the rollup once rows of the period have been pruned, from the start's day on", async () => {
    await createLedger("pruned");
    await use("pruned", NOVEMBER, 100);
    await use("pruned", NOVEMBER + DAY_MS, 10);
    await use("pruned", NOVEMBER + 2 * DAY_MS, 1);
    await run("ALTER TABLE pruned.usage_raw DROP PARTITION 20261101");
    expect(await sum("pruned", "tenant", NOVEMBER)).toMatchObject({ tokens: 111 });
    expect(await sum("pruned", "tenant", NOVEMBER + DAY_MS + 3_600_000)).toMatchObject({ tokens: 1 });
    await run("TRUNCATE TABLE pruned.usage_raw");
    expect(await sum("pruned", "key", null)).toMatchObject({ tokens: 111 });
  });

  it("leave out what ended later than asked for: by raw rows and by the rollup", async () => {
    const untilMs = NOVEMBER + 2 * DAY_MS + 3_600_000;
    await createLedger("lately");
    await use("lately", NOVEMBER, 1000);
    await use("lately", NOVEMBER + DAY_MS, 100);
    await use("lately", untilMs - 1, 10);
    await use("lately", untilMs, 7);
    await use("lately", untilMs + 1000, 5);
    await use("lately", untilMs, 3, KEY, "benchmark");
    expect(await sum("lately", "tenant", NOVEMBER, untilMs)).toEqual({ tokens: 1110, nanoUsd: 1_110_000_000 });
    expect(await sum("lately", "key", NOVEMBER + DAY_MS, untilMs)).toMatchObject({ tokens: 110 });
    await run("ALTER TABLE lately.usage_raw DROP PARTITION 20261101");
    expect(await sum("lately", "tenant", NOVEMBER, untilMs)).toEqual({ tokens: 1110, nanoUsd: 1_110_000_000 });
    expect(await sum("lately", "tenant", untilMs, untilMs)).toEqual({ tokens: 0, nanoUsd: 0 });
  });

  it("are not asked for by anything but an id, and an answer is a pair of numbers", () => {
    expect(ledgerQuery("sums", "tenant", "' OR 1 = 1", null, 0)).toBeNull();
    expect(readLedgerAnswer("Code: 60")).toBeNull();
    expect(readLedgerAnswer("")).toBeNull();
  });
});
