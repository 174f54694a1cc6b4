/**
 * Aggregated reads against the real engine (docs/rules/usage-reads.md#shapes).
 *
 * @module-tag check
 */
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { describe, expect, it } from "vitest";
import { listen } from "../../../infra/local/http/listen.ts";
import { costsQuerySchema } from "../../../shared/schema/cost-reads.ts";
import {
  keySummariesQuerySchema,
  overviewQuerySchema,
  usageBreakdownQuerySchema,
  usageDailyQuerySchema,
  usageFilterQuerySchema,
  usageSeriesQuerySchema,
  usageTotalsQuerySchema,
} from "../../../shared/schema/usage-reads.ts";
import type { UsageRow } from "../../../shared/usage/usage-row.ts";
import { KEY, ledgerRow, TENANT, TestLedger } from "../../../test/harness/ledger.ts";
import { DAY_MS, OTHER_KEY, OTHER_TENANT, someTraffic, used } from "../../../test/harness/ledger-traffic.ts";
import { readKeySummaries, readKeySummary } from "./key-summaries.ts";
import { readSpans } from "./spans.ts";
import { AnalyticsStore } from "./store.ts";
import { readCacheUsage, readCosts, readOverviewTotals } from "./usage-costs.ts";
import { readDaily } from "./usage-daily.ts";
import { readModelSeries, readSeries, readTenantSeries } from "./usage-series.ts";
import { readBreakdown, readTotals } from "./usage-totals.ts";

const NOW = Date.UTC(2026, 0, 9, 12);
const ledger = new TestLedger();
ledger.use();

const row = (change: Partial<UsageRow> = {}): UsageRow => ledgerRow(NOW - 1000, change);

const ended = (failed: number, refused = 0) => ({
  refused_requests: refused,
  failed_requests: failed,
  left_requests: 0,
});

describe("usage by tenant, key or model", () => {
  const totals = async (query: Record<string, string> = {}) =>
    await readTotals(ledger.store, usageTotalsQuerySchema.parse(query), NOW);

  it("sums the requested scope, most tokens first, without internal traffic and unknown callers", async () => {
    await ledger.insert(someTraffic(NOW));
    expect(await totals()).toEqual([
      { tenant_id: OTHER_TENANT, requests: 1, errors: 0, ...ended(0), ...used(100, 200, 0.05) },
      { tenant_id: TENANT, requests: 2, errors: 1, ...ended(1), ...used(11, 22, 0.11) },
    ]);
    expect(await totals({ group_by: "key", limit: "1" })).toEqual([
      { key_id: OTHER_KEY, tenant_id: OTHER_TENANT, requests: 1, errors: 0, ...ended(0), ...used(100, 200, 0.05) },
    ]);
    expect(await totals({ group_by: "model", tenant_id: TENANT })).toEqual([
      { model: "m", requests: 1, errors: 0, ...ended(0), ...used(10, 20, 0.1) },
      { model: "n", requests: 1, errors: 1, ...ended(1), ...used(1, 2, 0.01) },
    ]);
    expect(await totals({ include_internal: "true", key_id: KEY })).toMatchObject([{ requests: 3, total_tokens: 47 }]);
    expect(await totals({ since_ms: "0", tenant_id: TENANT })).toMatchObject([
      { requests: 3, errors: 1, cost_usd: 1.11 },
    ]);
  });

  it("breaks spend down by model and key, most expensive first", async () => {
    await ledger.insert(someTraffic(NOW));
    const rows = await readBreakdown(ledger.store, usageBreakdownQuerySchema.parse({}), NOW);
    expect(
      rows.map(({ model, key_id, cost_usd, gen_tokens_per_sec }) => [model, key_id, cost_usd, gen_tokens_per_sec]),
    ).toEqual([
      ["m", KEY, 0.1, 20],
      ["m", OTHER_KEY, 0.05, 400],
      ["n", KEY, 0.01, 0],
    ]);
  });
});

describe("recent activity of keys", () => {
  it("within a window, busiest first, the last request included", async () => {
    await ledger.insert(someTraffic(NOW));
    await ledger.insert([row({ ts_ms: NOW - 10, model: "last", status_code: 499 })]);
    const rows = await readKeySummaries(ledger.store, keySummariesQuerySchema.parse({}), NOW);
    expect(
      rows.map(({ key_id, last_used_ms, last_model, last_status_code, requests }) => [
        key_id,
        last_used_ms,
        last_model,
        last_status_code,
        requests,
      ]),
    ).toEqual([
      [OTHER_KEY, NOW - 1000, "m", 200, 1],
      [KEY, NOW - 10, "last", 499, 3],
    ]);
  });

  it("one key: the window limits its sums but not its last request; no traffic gives zeros", async () => {
    await ledger.insert([row({ ...used(1000, 0, 1), ts_ms: NOW - 2 * DAY_MS, energy_wh: 3 })]);
    const key = { id: KEY, tenant_id: TENANT };
    expect(await readKeySummary(ledger.store, key, { include_internal: false }, NOW)).toEqual({
      key_id: KEY,
      tenant_id: TENANT,
      last_used_ms: NOW - 2 * DAY_MS,
      last_model: "m",
      last_status_code: 200,
      requests: 0,
      ...used(0, 0, 0),
      energy_wh: 0,
      energy_cost_usd: 0,
      co2_g: 0,
    });
    const ever = await readKeySummary(ledger.store, key, { include_internal: false, since_ms: 0 }, NOW);
    expect(ever).toMatchObject({ requests: 1, cost_usd: 1, energy_wh: 3 });
    const never = await readKeySummary(
      ledger.store,
      { id: OTHER_KEY, tenant_id: OTHER_TENANT },
      { include_internal: false },
      NOW,
    );
    expect(never).toMatchObject({ last_used_ms: 0, last_model: "", last_status_code: 0, requests: 0 });
  });
});

describe("usage over time", () => {
  const series = (query: Record<string, string> = {}) => usageSeriesQuerySchema.parse(query);

  it("counts everything, including refusals of unknown callers, unless one tenant is requested", async () => {
    await ledger.insert(someTraffic(NOW));
    const bucket = Math.floor((NOW - 1000) / 300_000) * 300_000;
    expect(await readSeries(ledger.store, series(), NOW)).toEqual([
      {
        bucket_ms: bucket,
        errors: 2,
        ...ended(1, 1),
        requests: 4,
        ...used(111, 222, 0.16),
        avg_ttft_ms: 75,
        p50_ttft_ms: 100,
      },
    ]);
    expect(await readSeries(ledger.store, series({ tenant_id: OTHER_TENANT }), NOW)).toMatchObject([
      { requests: 1, errors: 0 },
    ]);
    expect((await readTenantSeries(ledger.store, series(), NOW)).map((one) => one.tenant_id)).toEqual([
      TENANT,
      OTHER_TENANT,
    ]);
    expect(
      (await readModelSeries(ledger.store, series(), NOW)).map((one) => [one.model, one.prompt_tokens_per_sec]),
    ).toEqual([
      ["m", expect.any(Number)],
      ["n", 0],
    ]);
  });

  it("widens too narrow a bucket, less with a filter, and refuses too long a series", async () => {
    await ledger.insert([row({ ts_ms: NOW - 61_000 }), row({ ts_ms: NOW - 15_000 }), row({ ts_ms: NOW - 1000 })]);
    expect(await readSeries(ledger.store, series({ bucket_ms: "1" }), NOW)).toHaveLength(2);
    expect(
      await readSeries(ledger.store, series({ bucket_ms: "1", model: "m", since_ms: String(NOW - 3_600_000) }), NOW),
    ).toHaveLength(3);
    await expect(readSeries(ledger.store, series({ since_ms: "0" }), NOW)).rejects.toMatchObject({
      code: "validation_failed",
      options: { details: [{ path: "bucket_ms" }] },
    });
  });
});

describe("cache and costs", () => {
  it("show what hits saved, and the frozen costs", async () => {
    await ledger.insert([
      row({ cache_status: "hit", ...used(10, 20, 0) }),
      row({ cache_status: "miss", ...used(10, 20, 0.5), energy_wh: 2, co2_g: 1.5 }),
      row({ cache_status: "miss", ...used(1, 1, 0.25), model: "n" }),
      row({ ...used(1, 1, 0.125), model: "n" }),
    ]);
    const filter = usageFilterQuerySchema.parse({});
    expect(await readCacheUsage(ledger.store, filter, NOW)).toEqual({
      hits: 1,
      misses: 2,
      hit_ratio: 0.3333,
      tokens_saved: 30,
      by_model: [
        { model: "m", hits: 1, misses: 1, tokens_saved: 30 },
        { model: "n", hits: 0, misses: 1, tokens_saved: 0 },
      ],
    });
    expect(await readCosts(ledger.store, costsQuerySchema.parse({}), NOW)).toMatchObject([
      { model: "m", requests: 2, total_cost: 0.5, energy_wh: 2, co2_g: 1.5 },
      { model: "n", requests: 2, total_cost: 0.375 },
    ]);
    expect(await readOverviewTotals(ledger.store, overviewQuerySchema.parse({}), NOW)).toEqual({
      requests: 4,
      tokens: 64,
      cost: 0.875,
    });
    expect((await readCacheUsage(ledger.store, usageFilterQuerySchema.parse({ model: "none" }), NOW)).hit_ratio).toBe(
      0,
    );
  });
});

describe("the spans of a request", () => {
  it("come in order of their start, and a request without spans has none", async () => {
    const id = randomUUID();
    await ledger.insertSpans([
      { request_id: id, span_name: "upstream", parent_span: "proxy_request", start_ms: NOW + 5 },
      { request_id: id, span_name: "proxy_request", start_ms: NOW, duration_ms: 9, attributes: '{"a":1}' },
    ]);
    expect(await readSpans(ledger.store, id)).toMatchObject([
      {
        span_name: "proxy_request",
        parent_span: "",
        start_ms: NOW,
        duration_ms: 9,
        status: "ok",
        attributes: '{"a":1}',
      },
      { span_name: "upstream", parent_span: "proxy_request" },
    ]);
    expect(await readSpans(ledger.store, randomUUID())).toEqual([]);
  });
});

describe("a store that is unavailable", () => {
  it("is waited for no longer than the caller allows", async () => {
    const silent = await listen(createServer(), "127.0.0.1", 0);
    const store = new AnalyticsStore({ url: silent.url, db: "gateway", user: "default", password: "" }, ledger.log);
    await expect(store.rows("SELECT 1", {}, 50)).rejects.toMatchObject({ code: "analytics_unavailable" });
    await store.close();
    await silent.close();
  });

  it("is 503 for every read", async () => {
    const absent = ledger.absent();
    await expect(readDaily(absent, usageDailyQuerySchema.parse({}), NOW)).rejects.toMatchObject({ status: 503 });
    await absent.close();
  });
});
