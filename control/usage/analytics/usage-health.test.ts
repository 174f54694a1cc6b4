/**
 * How requests ended and how fast they were, against the real engine (docs/rules/usage-reads.md#health,
 * docs/rules/usage-reads.md#outcomes).
 *
 * @module-tag long
 */
import { expect, it } from "vitest";
import { usageHealthQuerySchema } from "../../../shared/schema/health-reads.ts";
import { usageLogFilterSchema } from "../../../shared/schema/usage.ts";
import { usageDailyQuerySchema } from "../../../shared/schema/usage-reads.ts";
import { NIL_UUID, type UsageRow } from "../../../shared/usage/usage-row.ts";
import { ledgerRow, TENANT, TestLedger } from "../../../test/harness/ledger.ts";
import { DAY_MS, OTHER_KEY, OTHER_TENANT } from "../../../test/harness/ledger-traffic.ts";
import { addOutcomes } from "./kept-rows.ts";
import { readLogTotals } from "./log-totals.ts";
import { dropExpired } from "./retention.ts";
import { readDaily } from "./usage-daily.ts";
import { readHealth } from "./usage-health.ts";

const NOW = Date.UTC(2026, 2, 30, 12, 5);
const HOUR_MS = 3_600_000;
const ledger = new TestLedger();
ledger.use();

const row = (change: Partial<UsageRow>, ageMs = 10 * 60_000): UsageRow =>
  ledgerRow(NOW - ageMs, {
    attempts: 1,
    upstream_status: 200,
    ttft_ms: 100,
    total_ms: 1000,
    output_tokens: 90,
    ...change,
  });
const health = async (query: object) => await readHealth(ledger.store, usageHealthQuerySchema.parse(query), NOW);
const SINCE = { since_ms: String(NOW - DAY_MS) };

/** Requests that were not served, each with what it counts as. */
const ENDS: readonly (readonly [outcome: "refused" | "failed" | "left", name: string, row: Partial<UsageRow>])[] = [
  ["refused", "a limit of the tenant", { status_code: 429, error_code: "token_budget_exceeded", attempts: 0 }],
  ["refused", "a wrong field, by the gateway", { status_code: 400, error_code: "validation_failed", attempts: 0 }],
  ["refused", "a wrong field, by the upstream", { status_code: 400, upstream_status: 400 }],
  ["refused", "a blocked answer", { status_code: 400, upstream_status: 200, error_code: "response_blocked" }],
  ["failed", "a limit of the upstream", { status_code: 429, upstream_status: 429 }],
  ["failed", "a credential of the upstream", { status_code: 401, upstream_status: 401 }],
  ["failed", "an error of the upstream", { status_code: 500, upstream_status: 500 }],
  ["failed", "no answer of the upstream", { status_code: 504, upstream_status: 0, error_code: "upstream_timeout" }],
  ["failed", "a gateway that lacks a part", { status_code: 503, attempts: 0, error_code: "key_store_unavailable" }],
  ["failed", "a stream that broke off", { status_code: 200, error_code: "upstream_stream_error" }],
  ["left", "a client that left", { status_code: 499 }],
];

it.each(ENDS)("counts %s: %s", async (outcome, _, change) => {
  await ledger.insert([row(change), row({})]);
  const expected = { refused_requests: 0, failed_requests: 0, left_requests: 0, [`${outcome}_requests`]: 1 };
  const [bucket, ...others] = await health({ ...SINCE, group_by: "model" });
  expect({ bucket, others }).toMatchObject({ bucket: { requests: 2, served_requests: 1, ...expected }, others: [] });
  const logged = async (status: string) =>
    await readLogTotals(ledger.store, usageLogFilterSchema.parse({ ...SINCE, status }), NOW);
  expect(await logged(outcome)).toMatchObject({ requests: 1, ...expected });
  const day = usageDailyQuerySchema.parse({ start_day: "2026-03-30" });
  expect(await readDaily(ledger.store, day, NOW)).toMatchObject([{ requests: 2, ...expected }]);
});

it("has buckets of the window with percentiles and speeds, of a tenant and a model", async () => {
  const slow = { ttft_ms: 900, total_ms: 9000, tenant_id: OTHER_TENANT, key_id: OTHER_KEY, model: "n" };
  await ledger.insert([
    ...Array.from({ length: 90 }, () => row({ ttft_ms: 100, total_ms: 1000 }, 2 * HOUR_MS)),
    ...Array.from({ length: 10 }, () => row(slow, 2 * HOUR_MS)),
    row({ status_code: 429, attempts: 0, tenant_id: NIL_UUID, key_id: NIL_UUID, model: "" }),
    row({}, 2 * DAY_MS),
  ]);
  const buckets = await health(SINCE);
  expect(
    buckets.map(({ bucket_ms, requests, refused_requests }) => ({ bucket_ms, requests, refused_requests })),
  ).toEqual([
    { bucket_ms: Date.UTC(2026, 2, 30, 10), requests: 100, refused_requests: 0 },
    { bucket_ms: Date.UTC(2026, 2, 30, 11), requests: 1, refused_requests: 1 },
  ]);
  const [first, last] = buckets;
  expect(first?.p50_ttft_ms).toBeCloseTo(100, 0);
  expect(first?.p99_total_ms).toBeGreaterThan(8900);
  expect(first?.gen_tokens_per_sec).toBeCloseTo(100, 0);
  expect(last).toMatchObject({ p50_ttft_ms: null, p95_total_ms: null, gen_tokens_per_sec: null });
  expect(await health({ ...SINCE, group_by: "tenant" })).toMatchObject([
    { tenant_id: TENANT, requests: 90, bucket_ms: 0 },
    { tenant_id: OTHER_TENANT, requests: 10 },
  ]);
  expect(await health({ ...SINCE, tenant_id: OTHER_TENANT, model: "n", bucket_ms: "86400000" })).toMatchObject([
    { bucket_ms: Date.UTC(2026, 2, 30), requests: 10 },
  ]);
});

it("has endpoints by the one that was called last, and only requests that called one", async () => {
  await ledger.insert([
    row({ endpoint: "gpu-1" }),
    row({ endpoint: "gpu-1", status_code: 502, upstream_status: 502 }),
    row({ model: "asked", served_model: "m", endpoint: "gpu-1" }),
    row({ endpoint: "" }),
    row({ attempts: 0, status_code: 429 }),
  ]);
  const rows = await health({ ...SINCE, group_by: "endpoint" });
  expect(
    rows.map(({ model, endpoint, requests, failed_requests: failed }) => ({ model, endpoint, requests, failed })),
  ).toEqual([
    { model: "m", endpoint: "gpu-1", requests: 3, failed: 1 },
    { model: "m", endpoint: "", requests: 1, failed: 0 },
  ]);
  expect(await health({ ...SINCE, model: "m", endpoint: "gpu-1" })).toMatchObject([{ requests: 3 }]);
  expect(await health({ ...SINCE, model: "m", endpoint: "" })).toMatchObject([{ requests: 1 }]);
});

it("keeps the outcomes of days whose rows are dropped, also of days before their columns", async () => {
  const old = [row({ status_code: 500 }, 40 * DAY_MS), row({ status_code: 499 }, 39 * DAY_MS)];
  await ledger.insert([...old, row({ status_code: 429, attempts: 0 }, 5 * DAY_MS)]);
  for (const table of ["usage_daily", "usage_quarter"])
    await ledger.store.change(
      `ALTER TABLE ${ledger.db}.${table} UPDATE refused_requests = 0, failed_requests = 0, left_requests = 0 WHERE 1
       SETTINGS mutations_sync = 2`,
    );
  const all = { since_ms: String(NOW - 90 * DAY_MS), group_by: "model" };
  const OUTCOMES = { requests: 3, refused_requests: 1, failed_requests: 1, left_requests: 1 };
  expect(await health(all)).toMatchObject([{ requests: 3, refused_requests: 0 }]);
  await addOutcomes(ledger.store, NOW);
  await addOutcomes(ledger.store, NOW);
  expect(await health(all)).toMatchObject([OUTCOMES]);
  await dropExpired(ledger.store, 30, NOW);
  expect(await health(all)).toMatchObject([OUTCOMES]);
  const days = usageDailyQuerySchema.parse({ start_day: "2026-01-01" });
  expect(await readDaily(ledger.store, { ...days, group_by: "model" }, NOW)).toMatchObject([OUTCOMES]);
});

it("refuses widths that are no quarters, too many buckets, and an endpoint without its model", async () => {
  expect(usageHealthQuerySchema.safeParse({ bucket_ms: "60000" }).error?.issues[0]?.path).toEqual(["bucket_ms"]);
  expect(usageHealthQuerySchema.safeParse({ endpoint: "x" }).error?.issues[0]?.path).toEqual(["endpoint"]);
  await expect(health({ since_ms: "0", bucket_ms: "900000" })).rejects.toMatchObject({ code: "validation_failed" });
});
