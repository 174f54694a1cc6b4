import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startClickhouseBridge } from "../../infra/local/clickhouse/bridge.ts";
import { type Engine, openEngine } from "../../infra/local/clickhouse/engine.ts";
import { ownPort } from "../../test/harness/own-port.ts";
import { analyticsStoreOf, call } from "./clickhouse-insert.ts";

const credentials = { user: "default", password: "secret" };
const folder = mkdtempSync(join(tmpdir(), "gateway-refused-"));
let engine: Engine;
let bridge: Awaited<ReturnType<typeof startClickhouseBridge>>;

beforeAll(async () => {
  engine = openEngine(folder, 1);
  bridge = await startClickhouseBridge({ engine, ...credentials, maxBodyBytes: 1_000_000 });
  for (const statement of [
    "CREATE DATABASE gateway",
    "CREATE TABLE gateway.usage_raw (model String, tokens Int64, CONSTRAINT counted CHECK tokens >= 0) ENGINE = MergeTree ORDER BY model",
  ])
    await call({ url: bridge.url, db: "gateway", ...credentials }, statement, {}, null);
});
afterAll(async () => {
  await bridge.close();
  await engine.close();
  rmSync(folder, { recursive: true, force: true });
});

it.each([
  [
    "violates a constraint",
    { model: "patient", tokens: -1 },
    /^\S+: ClickHouse code 469 VIOLATED_CONSTRAINT: .*counted/,
  ],
  ["is no number", { model: "m", tokens: "patient" }, /^\S+: ClickHouse code \d+ [A-Z_]+: Cannot parse/],
])("says why a row that %s is refused, without its values", async (_, row, reason) => {
  const store = analyticsStoreOf({ url: bridge.url, db: "gateway", ...credentials });
  const failure: unknown = await store.insert("usage_raw", [JSON.stringify(row)], "t").catch((error: unknown) => error);
  expect(failure).toMatchObject({ name: "RowsRefused", message: expect.stringMatching(reason) });
  expect(String(failure)).not.toContain("patient");
});

it("says which store is not reached", async () => {
  const port = await ownPort();
  const store = analyticsStoreOf({ url: `http://127.0.0.1:${port}`, db: "gateway", ...credentials });
  await expect(store.findRequests(["00000000-0000-4000-8000-000000000000"])).rejects.toThrow(
    `127.0.0.1:${port}: connect ECONNREFUSED 127.0.0.1:${port}: nothing listens there`,
  );
});

it("says which store refuses the statement", async () => {
  const store = analyticsStoreOf({ url: bridge.url, db: "elsewhere", ...credentials });
  await expect(store.insert("usage_raw", ["{}"], "t")).rejects.toThrow(
    new RegExp(`^${new URL(bridge.url).host}: ClickHouse code \\d+ UNKNOWN_[A-Z]+: `),
  );
});
