/**
 * A resync on the running stack, after its stores have lost some records and got forged ones
 * (docs/rules/freshness.md#resync).
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "@upstash/redis";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startClickhouseBridge } from "../../infra/local/clickhouse/bridge.ts";
import { openEngine } from "../../infra/local/clickhouse/engine.ts";
import { startRedisBridge } from "../../infra/local/redis/bridge.ts";
import { memoryBackend } from "../../infra/local/redis/memory-backend.ts";
import { type Stack, startStack } from "../../infra/local/stack.ts";
import { storeKeys } from "../../shared/records.ts";
import type { BudgetUsage } from "../../shared/schema/budget.ts";
import type { Resynced } from "../../shared/schema/resync.ts";
import { zeroUsageRow } from "../../shared/usage/usage-row.ts";
import { Gateway } from "../harness/gateway.ts";
import { stackEnv } from "../harness/global-setup.ts";
import { startTestUpstream, type TestUpstream } from "../harness/test-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";

const dataDir = mkdtempSync(join(tmpdir(), "gateway-resync-"));
const undo: (() => Promise<void> | void)[] = [() => rmSync(dataDir, { recursive: true, force: true })];
let stack: Stack;
let gateway: Gateway;
let upstream: TestUpstream;
let redis: Redis;
let insert: (row: object) => Promise<void>;

beforeAll(async () => {
  upstream = await startTestUpstream();
  undo.push(async () => await upstream.close());
  const store = await startRedisBridge({ backend: memoryBackend(), token: "token" });
  undo.push(async () => await store.close());
  redis = new Redis({ url: store.url, token: "token", automaticDeserialization: false });
  const engine = openEngine(join(dataDir, "clickhouse"), 2);
  undo.push(async () => await engine.close());
  const ledger = await startClickhouseBridge({ engine, user: "default", password: "secret" });
  undo.push(async () => await ledger.close());
  insert = async (row) => {
    const url = `${ledger.url}/?query=${encodeURIComponent("INSERT INTO gateway.usage_raw FORMAT JSONEachRow")}`;
    const headers = { "x-clickhouse-user": "default", "x-clickhouse-key": "secret" };
    const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(row) });
    expect({ status: response.status, body: await response.text() }).toEqual({ status: 200, body: "" });
  };
  stack = await startStack({
    env: stackEnv(dataDir, {
      GATEWAY_REDIS_URL: store.url,
      GATEWAY_REDIS_TOKEN: "token",
      GATEWAY_CLICKHOUSE_URL: ledger.url,
      GATEWAY_CLICKHOUSE_PASSWORD: "secret",
    }),
  });
  undo.push(async () => await stack.stop());
  gateway = new Gateway(stack);
});
afterAll(async () => {
  for (let step = undo.pop(); step !== undefined; step = undo.pop()) await step();
});

/** What one request to the test upstream uses. */
const REQUEST_TOKENS = 33;

it("restores lost records, removes forged ones, and counts the ledger's usage without hits", async () => {
  const minted = await gateway.mint(upstream.url);
  const path = `/tenants/${minted.tenant.id}`;
  const minuteAgo = Date.now() - 60_000;
  const budget_started_at = new Date(minuteAgo).toISOString();
  await gateway.must("PATCH", `${path}/budget`, { budget_tokens: 1000, budget_started_at });
  const status = async (): Promise<number> => {
    const response = await gateway.chat(minted);
    await response.text();
    return response.status;
  };
  const usage = async (): Promise<BudgetUsage> => await gateway.must<BudgetUsage>("GET", `${path}/budget/usage`);
  expect(await status()).toBe(200);
  await waitFor(usage, ({ used_tokens, reserved_tokens }) => used_tokens === REQUEST_TOKENS && reserved_tokens === 0);
  await waitFor(
    async () => await gateway.rows(minted.tenant.id),
    (rows) => rows.length === 1,
  );

  // The job that compares the copies runs soon after the start, and would remove the forged one itself.
  await waitFor(
    async () => await (await fetch(`${stack.metricsUrl}/metrics`)).text(),
    (text) => /^gateway_job_runs_total\{(?=[^}]*name="compare")(?=[^}]*outcome="ok")[^}]*\} [1-9]/m.test(text),
  );
  // The mark stays, or the control service would fill the store.
  const [, names] = await redis.scan(0, { count: 1000 });
  await redis.del(...names.filter((name) => name !== storeKeys.ready));
  await redis.set("model:forged", "{}");
  const insertRow = async (change: object): Promise<void> => {
    const { ts_ms, ...row } = zeroUsageRow(crypto.randomUUID(), minuteAgo);
    const own = { tenant_id: minted.tenant.id, key_id: minted.key.id, ts: new Date(ts_ms).toISOString().slice(0, -1) };
    await insert({ ...row, ...own, ...change });
  };
  await insertRow({ total_tokens: 1000 });
  await insertRow({ total_tokens: 500, cache_status: "hit" });
  expect(await usage()).toMatchObject({ used_tokens: REQUEST_TOKENS });

  const { duration_ms, ...counts } = await gateway.must<Resynced>("POST", "/resync");
  expect(counts).toEqual({ keys: 1, models: 1, mcp_servers: 0, settings: 3, budgets: 1, removed: 1 });
  expect(duration_ms).toBeGreaterThan(0);
  const counted = await usage();
  expect(counted).toMatchObject({ remaining_tokens: 0, state: "exhausted" });
  // The request's own row is in the ledger's sum only once it is older than 20 s (docs/rules/budgets.md#check-against-the-ledger).
  expect([1000, 1000 + REQUEST_TOKENS]).toContain(counted.used_tokens);
  expect(await redis.exists("model:forged")).toBe(0);
  expect(await status()).toBe(403);
  await gateway.must("PATCH", `${path}/budget`, { budget_tokens: 2000, budget_started_at });
  expect(await status()).toBe(200);
});

it("empties the response cache in Workers, so that an answer gone from the store is not served", {
  tags: ["check"],
}, async () => {
  const minted = await gateway.mint(upstream.url, "plain", { cache_enabled: true });
  const lookup = async (): Promise<string | null> => {
    const response = await gateway.chat(minted);
    await response.text();
    return response.headers.get("x-gateway-cache");
  };
  expect([await lookup(), await lookup()]).toEqual(["miss", "hit"]);
  const stored = async (): Promise<readonly string[]> =>
    (await redis.scan(0, { match: `cache:${minted.tenant.id}:*`, count: 1000 }))[1];
  const names = await waitFor(stored, (found) => found.length === 1);
  await redis.del(...names);
  await gateway.must<Resynced>("POST", "/resync");
  expect([await lookup(), await lookup()]).toEqual(["miss", "hit"]);
});

it("refuses no request that runs meanwhile, and counts nothing twice", { tags: ["long"] }, async () => {
  const minted = await gateway.mint(upstream.url);
  const path = `/tenants/${minted.tenant.id}/budget`;
  const budget_started_at = new Date(Date.now() - 60_000).toISOString();
  await gateway.must("PATCH", path, { budget_tokens: 10_000_000, budget_started_at });
  const statuses: number[] = [];
  let stopped = false;
  const client = async (): Promise<void> => {
    while (!stopped) {
      const response = await gateway.chat(minted, { stream: statuses.length % 2 === 0 });
      await response.text();
      statuses.push(response.status);
    }
  };
  const clients = Array.from({ length: 8 }, client);
  for (let round = 1; round <= 3; round += 1) {
    await waitFor(
      () => statuses.length,
      (served) => served >= 60 * round,
    );
    await gateway.must<Resynced>("POST", "/resync");
  }
  stopped = true;
  await Promise.all(clients);
  expect(new Set(statuses)).toEqual(new Set([200]));
  const usage = await waitFor(
    async () => await gateway.must<BudgetUsage>("GET", `${path}/usage`),
    ({ used_tokens }) => used_tokens >= REQUEST_TOKENS * statuses.length,
  );
  expect(usage.used_tokens).toBe(REQUEST_TOKENS * statuses.length);
});
