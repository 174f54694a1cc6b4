/**
 * Every read that sums a window counts the same requests (docs/rules/usage-reads.md#sources): before rows are dropped,
 * afterwards, and with late rows of dropped days. Against the real engine, with sums of its own.
 *
 * @module-tag long
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { costsQuerySchema } from "../../../shared/schema/cost-reads.ts";
import { usageLogFilterSchema, usageModelsQuerySchema } from "../../../shared/schema/usage.ts";
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
import { DAY_MS, OTHER_KEY, OTHER_TENANT } from "../../../test/harness/ledger-traffic.ts";
import { readKeySummaries, readKeySummary } from "./key-summaries.ts";
import { readLogTotals } from "./log-totals.ts";
import { dropExpired } from "./retention.ts";
import { readCacheUsage, readCosts, readOverviewTotals } from "./usage-costs.ts";
import { readDaily } from "./usage-daily.ts";
import { readModelUsage } from "./usage-models.ts";
import { readModelSeries, readSeries, readTenantSeries } from "./usage-series.ts";
import { readBreakdown, readTotals } from "./usage-totals.ts";

const ledger = new TestLedger();
ledger.use();

const QUARTER_MS = 900_000;
const TODAY = Date.UTC(2026, 2, 20);
const NOW = TODAY + 13 * 3_600_000 + 7 * 60_000;
const START = TODAY - 7 * DAY_MS;

interface Sums {
  readonly requests: number;
  readonly total_tokens: number;
  /** In millionths of a USD, so that sums are whole. */
  readonly cost: number;
}
interface Shown {
  readonly requests: number;
  readonly total_tokens?: number;
  readonly cost_usd?: number;
  readonly total_cost?: number;
}

const micro = (usd: number): number => Math.round(usd * 1e6);
function sumsOf(rows: readonly Shown[]): Sums {
  const sum = (pick: (row: Shown) => number): number => rows.reduce((all, row) => all + pick(row), 0);
  return {
    requests: sum(({ requests }) => requests),
    total_tokens: sum((row) => row.total_tokens ?? 0),
    cost: micro(sum((row) => row.cost_usd ?? row.total_cost ?? 0)),
  };
}

/** A row every seven minutes, so that quarters have several and windows cut them. */
const rows = Array.from({ length: Math.floor((NOW - START) / (7 * 60_000)) }, (_, at): UsageRow => {
  const isHit = at % 6 === 0;
  return ledgerRow(START + at * 7 * 60_000, {
    model: at % 3 === 0 ? "m" : "n",
    ...(at % 5 === 0 ? { tenant_id: OTHER_TENANT, key_id: OTHER_KEY } : {}),
    status_code: at % 11 === 0 ? 500 : 200,
    cache_status: isHit ? "hit" : "miss",
    input_tokens: at % 17,
    total_tokens: at % 17,
    cost_usd: isHit ? 0 : (at % 7) / 1000,
    ttft_ms: 10 + (at % 100),
    total_ms: 1000,
  });
});

/** Which rows a window has: of days whose rows were dropped, those of its whole quarters. */
const within = (all: readonly UsageRow[], keptFromMs: number, sinceMs: number, untilMs: number) =>
  all.filter(({ ts_ms }) => {
    if (ts_ms >= keptFromMs) return ts_ms >= sinceMs && ts_ms <= untilMs;
    const quarter = Math.floor(ts_ms / QUARTER_MS) * QUARTER_MS;
    return quarter >= sinceMs && quarter + QUARTER_MS <= untilMs + 1;
  });

const SUMS_READS = {
  "/usage by tenant": async (query: object) => await readTotals(ledger.store, usageTotalsQuerySchema.parse(query), NOW),
  "/usage by key": async (query: object) =>
    await readTotals(ledger.store, usageTotalsQuerySchema.parse({ ...query, group_by: "key" }), NOW),
  "/usage by model": async (query: object) =>
    await readTotals(ledger.store, usageTotalsQuerySchema.parse({ ...query, group_by: "model" }), NOW),
  "/usage/models": async (query: object) =>
    await readModelUsage(ledger.store, usageModelsQuerySchema.parse(query), NOW),
  "/usage/breakdown": async (query: object) =>
    await readBreakdown(ledger.store, usageBreakdownQuerySchema.parse(query), NOW),
  "/usage/series": async (query: object) => await readSeries(ledger.store, usageSeriesQuerySchema.parse(query), NOW),
} satisfies Record<string, (query: object) => Promise<readonly Shown[]>>;

/** The sums by every read that can name the window. */
async function readAll(whose: object, sinceMs: number, untilMs: number): Promise<Record<string, Partial<Sums>>> {
  const query = { ...whose, since_ms: String(sinceMs), until_ms: String(untilMs) };
  const series = usageSeriesQuerySchema.parse(query);
  const shown: Record<string, Partial<Sums>> = {};
  for (const [name, read] of Object.entries(SUMS_READS)) shown[name] = sumsOf(await read(query));
  shown["/usage/series/tenants"] = sumsOf(await readTenantSeries(ledger.store, series, NOW));
  const { cost: _, ...models } = sumsOf(await readModelSeries(ledger.store, series, NOW));
  shown["/usage/series/models"] = models;
  const { total_tokens: __, ...costs } = sumsOf(await readCosts(ledger.store, costsQuerySchema.parse(query), NOW));
  shown["/costs"] = costs;
  return shown;
}

/** The sums by reads whose window ends now. */
async function readUntilNow(sinceMs: number): Promise<Record<string, Partial<Sums>>> {
  const since = { since_ms: String(sinceMs) };
  const overview = await readOverviewTotals(ledger.store, overviewQuerySchema.parse(since), NOW);
  const keys = [
    { id: KEY, tenant_id: TENANT },
    { id: OTHER_KEY, tenant_id: OTHER_TENANT },
  ].map(async (key) => await readKeySummary(ledger.store, key, { since_ms: sinceMs, include_internal: false }, NOW));
  return {
    "/overview/summary": { requests: overview.requests, total_tokens: overview.tokens, cost: micro(overview.cost) },
    "/usage/keys/summary": sumsOf(await readKeySummaries(ledger.store, keySummariesQuerySchema.parse(since), NOW)),
    "/keys/{id}/usage": sumsOf(await Promise.all(keys)),
  };
}

async function readDays(whose: object, query: object): Promise<Record<string, Partial<Sums>>> {
  const all = { ...whose, ...query };
  const { total_tokens: _, ...costs } = sumsOf(await readCosts(ledger.store, costsQuerySchema.parse(all), NOW));
  return {
    "/usage/daily": sumsOf(await readDaily(ledger.store, usageDailyQuerySchema.parse(all), NOW)),
    "/usage/breakdown by days": sumsOf(
      await readBreakdown(ledger.store, usageBreakdownQuerySchema.parse({ ...all, limit: "1000" }), NOW),
    ),
    "/costs by days": costs,
  };
}

/** Expects these sums of every read, as far as it shows them. */
function expectAll(shown: Record<string, Partial<Sums>>, expected: Sums): void {
  for (const [read, sums] of Object.entries(shown)) expect({ read, ...expected }).toMatchObject({ read, ...sums });
}

const instant = fc.integer({ min: START - DAY_MS, max: NOW });
const day = fc.integer({ min: -1, max: 8 }).map((at) => new Date(START + at * DAY_MS).toISOString().slice(0, 10));
const whose = fc.constantFrom({}, { tenant_id: OTHER_TENANT }, { key_id: KEY, model: "n" });
const isOf = (row: UsageRow, { tenant_id, key_id, model }: Partial<UsageRow>): boolean =>
  [tenant_id ?? row.tenant_id, key_id ?? row.key_id, model ?? row.model].join() ===
  [row.tenant_id, row.key_id, row.model].join();

/** Compares every read with sums of `all`; `keptFromMs`: rows before it were dropped but for those that `listed` has. */
async function compareAll(all: readonly UsageRow[], keptFromMs: number, listed: readonly UsageRow[], numRuns: number) {
  await fc.assert(
    fc.asyncProperty(instant, instant, whose, async (one, other, of) => {
      const [sinceMs, untilMs] = [Math.min(one, other), Math.max(one, other)];
      const meant = all.filter((row) => isOf(row, of));
      const found = within(meant, keptFromMs, sinceMs, untilMs);
      expectAll(await readAll(of, sinceMs, untilMs), sumsOf(found.map((row) => ({ ...row, requests: 1 }))));
      const query = { ...of, since_ms: String(sinceMs), until_ms: String(untilMs) };
      const hits = found.filter(({ cache_status }) => cache_status === "hit");
      expect(await readCacheUsage(ledger.store, usageFilterQuerySchema.parse(query), NOW)).toMatchObject({
        hits: hits.length,
        misses: found.length - hits.length,
        tokens_saved: hits.reduce((sum, row) => sum + row.total_tokens, 0),
      });
      const log = listed.filter((row) => isOf(row, of) && row.ts_ms >= sinceMs && row.ts_ms <= untilMs);
      const totals = await readLogTotals(ledger.store, usageLogFilterSchema.parse(query), NOW);
      expectAll({ "/usage/logs/totals": sumsOf([totals]) }, sumsOf(log.map((row) => ({ ...row, requests: 1 }))));
      const sinceThen = within(all, keptFromMs, sinceMs, Number.POSITIVE_INFINITY);
      expectAll(await readUntilNow(sinceMs), sumsOf(sinceThen.map((row) => ({ ...row, requests: 1 }))));
    }),
    { numRuns },
  );
  await fc.assert(
    fc.asyncProperty(day, day, whose, fc.constantFrom("UTC", "Asia/Kolkata"), async (one, other, of, timezone) => {
      const [start_day, end_day] = one < other ? [one, other] : [other, one];
      const offsetMs = timezone === "UTC" ? 0 : 5.5 * 3_600_000;
      const [sinceMs, untilMs] = [Date.parse(start_day) - offsetMs, Date.parse(end_day) + DAY_MS - offsetMs - 1];
      const found = within(all, keptFromMs, sinceMs, untilMs).filter((row) => isOf(row, of));
      const shown = {
        ...(await readDays(of, { start_day, end_day, timezone })),
        ...(await readAll(of, Math.max(0, sinceMs), untilMs)),
      };
      expectAll(shown, sumsOf(found.map((row) => ({ ...row, requests: 1 }))));
    }),
    { numRuns },
  );
}

describe("the reads of one window", () => {
  it("count a dropped day and its late row everywhere, and the log has the late row alone", async () => {
    await ledger.insert(Array.from({ length: 375 }, (_, at) => ledgerRow(START + at * 60_000, { total_tokens: 1 })));
    await dropExpired(ledger.store, 3, NOW);
    await ledger.insert([ledgerRow(START + 1, { total_tokens: 1 })]);
    const shown = {
      ...(await readAll({}, START, NOW)),
      ...(await readUntilNow(START)),
      ...(await readDays({}, { start_day: "2026-03-13" })),
    };
    expectAll(shown, { requests: 376, total_tokens: 376, cost: 0 });
    const log = usageLogFilterSchema.parse({ since_ms: String(START) });
    expect(await readLogTotals(ledger.store, log, NOW)).toMatchObject({ requests: 1, total_tokens: 1 });
  });

  it("agree while every row is there", { tags: ["check"] }, async () => {
    await ledger.insert(rows);
    await compareAll(rows, 0, rows, 6);
  });

  it("agree after rows were dropped, with late rows of the dropped days", { tags: ["check"] }, async () => {
    await ledger.insert(rows);
    await dropExpired(ledger.store, 3, NOW);
    const keptFromMs = TODAY - 3 * DAY_MS;
    const kept = rows.filter(({ ts_ms }) => ts_ms >= keptFromMs);
    await compareAll(rows, keptFromMs, kept, 3);
    const late = [2, 4].map((at) => ledgerRow(START + at * DAY_MS + 5, { total_tokens: 1000, cache_status: "miss" }));
    await ledger.insert(late);
    await compareAll([...rows, ...late], keptFromMs, [...kept, ...late], 3);
    await dropExpired(ledger.store, 2, NOW);
    const younger = rows.filter(({ ts_ms }) => ts_ms >= keptFromMs + DAY_MS);
    await compareAll([...rows, ...late], keptFromMs + DAY_MS, younger, 3);
  });
});
