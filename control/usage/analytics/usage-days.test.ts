/**
 * Days by the clock of a zone, and percentiles, from the rollup by quarters of an hour, against the real engine
 * (docs/rules/usage-reads.md#days-of-a-zone, docs/rules/storage-layouts.md#usage-quarter).
 *
 * @module-tag long
 */
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { costsQuerySchema } from "../../../shared/schema/cost-reads.ts";
import {
  type DailySums,
  usageBreakdownQuerySchema,
  usageDailyQuerySchema,
} from "../../../shared/schema/usage-reads.ts";
import { dayIn } from "../../../shared/time/zone-days.ts";
import { NIL_UUID, type UsageRow } from "../../../shared/usage/usage-row.ts";
import { KEY, ledgerRow, TENANT, TestLedger } from "../../../test/harness/ledger.ts";
import { DAY_MS, OTHER_KEY, OTHER_TENANT, someTraffic } from "../../../test/harness/ledger-traffic.ts";
import { dropExpired } from "./retention.ts";
import type { AnalyticsStore } from "./store.ts";
import { readCosts } from "./usage-costs.ts";
import { readDaily } from "./usage-daily.ts";
import { readBreakdown } from "./usage-totals.ts";

const ledger = new TestLedger();
ledger.use();

type Query = Record<string, string>;
const daily = async (query: Query, nowMs: number, store: AnalyticsStore = ledger.store) =>
  await readDaily(store, usageDailyQuerySchema.parse(query), nowMs);
const breakdown = async (query: Query, nowMs: number) =>
  await readBreakdown(ledger.store, usageBreakdownQuerySchema.parse(query), nowMs);
const costs = async (query: Query, nowMs: number) =>
  await readCosts(ledger.store, costsQuerySchema.parse(query), nowMs);
const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);

/** What rows are counted as, other than requests. */
const OUTCOMES = {
  success_requests: ({ status_code }: UsageRow) => status_code < 400,
  error_requests: ({ status_code }: UsageRow) => status_code >= 400,
  cache_hits: ({ cache_status }: UsageRow) => cache_status === "hit",
};
const OUTCOME_NAMES = Object.keys(OUTCOMES) as readonly (keyof typeof OUTCOMES)[];

/** Requests by day of those rows that lie in the days. */
function requestsByDay(rows: readonly UsageRow[], zone: string, first: string, last: string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { ts_ms } of rows) {
    const day = dayIn(zone, ts_ms);
    if (day >= first && day <= last) counts[day] = (counts[day] ?? 0) + 1;
  }
  return counts;
}

describe("days of a zone", () => {
  const START = Date.UTC(2026, 2, 1);
  const NOW = Date.UTC(2026, 3, 10);
  // one row every 43 minutes, so that every part of a day has some, over clock changes of all three kinds
  const rows = Array.from({ length: Math.floor((NOW - START) / (43 * 60_000)) }, (_, at) =>
    ledgerRow(START + at * 43 * 60_000, {
      model: at % 3 === 0 ? "m" : "n",
      ...(at % 5 === 0 ? { tenant_id: OTHER_TENANT, key_id: OTHER_KEY } : {}),
      total_tokens: at % 17,
      output_tokens: at % 17,
      cost_usd: (at % 7) / 1000,
      ttft_ms: at % 100,
      total_ms: 1000,
    }),
  );

  it("have the requests, tokens and money that their clock shows, by every read", async () => {
    await ledger.insert(rows);
    const zone = fc.constantFrom(
      "UTC",
      "Asia/Kolkata",
      "America/Los_Angeles",
      "Australia/Lord_Howe",
      "Pacific/Chatham",
      "Pacific/Kiritimati",
    );
    const day = fc.integer({ min: -2, max: 42 }).map((at) => dayIn("UTC", START + at * DAY_MS));
    await fc.assert(
      fc.asyncProperty(zone, day, day, fc.boolean(), async (timezone, one, other, ofOne) => {
        const [start_day, end_day] = one < other ? [one, other] : [other, one];
        const whose: Query = ofOne ? { tenant_id: TENANT, key_id: KEY, model: "n" } : {};
        const query = { timezone, start_day, end_day, ...whose };
        const meant = rows.filter((row) => !ofOne || (row.key_id === KEY && row.model === "n"));
        const days = await daily(query, NOW);
        const expected = requestsByDay(meant, timezone, start_day, end_day);
        expect(Object.fromEntries(days.map((row) => [row.day, row.requests]))).toEqual(expected);
        const within = meant.filter((row) => dayIn(timezone, row.ts_ms) in expected);
        const totals = { requests: within.length, total_tokens: sum(within.map((row) => row.total_tokens)) };
        const usd = sum(within.map((row) => row.cost_usd));
        const figures = [days, await breakdown({ ...query, limit: "1000" }, NOW)] as const;
        for (const read of figures) {
          expect({
            requests: sum(read.map((row) => row.requests)),
            total_tokens: sum(read.map((row) => row.total_tokens)),
          }).toEqual(totals);
          expect(sum(read.map((row) => row.cost_usd))).toBeCloseTo(usd, 8);
          for (const name of OUTCOME_NAMES)
            expect({ name, sum: sum(read.map((row) => row[name])) }).toEqual({
              name,
              sum: within.filter(OUTCOMES[name]).length,
            });
        }
        const costly = await costs(query, NOW);
        expect(sum(costly.map((row) => row.requests))).toBe(within.length);
        expect(sum(costly.map((row) => row.total_cost))).toBeCloseTo(usd, 8);
      }),
      { numRuns: 15 },
    );
  });

  it("have the outcomes and energy that the instants of the same time have", async () => {
    await ledger.insert(rows.map((row) => ({ ...row, energy_wh: 2, energy_cost_usd: 0.001, co2_g: 3 })));
    const [byDays, byInstants] = [
      await breakdown({ start_day: "2026-03-02", end_day: "2026-03-08" }, NOW),
      await breakdown({ since_ms: `${Date.UTC(2026, 2, 2)}`, until_ms: `${Date.UTC(2026, 2, 9) - 1}` }, NOW),
    ];
    expect(byDays).toHaveLength(4);
    const exact = (read: typeof byDays) => read.map((row) => ({ ...row, gen_tokens_per_sec: null }));
    expect(exact(byInstants)).toEqual(exact(byDays));
    expect(byDays.every(({ requests, energy_wh }) => energy_wh === 2 * requests)).toBe(true);
  });

  it("have the last week and today by default, and keep what the raw ledger has dropped", async () => {
    await ledger.insert(rows);
    const now = Date.UTC(2026, 3, 9, 20);
    const before = await daily({ timezone: "Asia/Kolkata" }, now);
    expect(before.map(({ day }) => day).slice(0, -1)).toEqual(
      [2, 3, 4, 5, 6, 7, 8, 9].map((each) => `2026-04-0${each}`).slice(1),
    );
    expect(before.at(-1)?.day).toBe("2026-04-10");
    await ledger.run(`TRUNCATE TABLE ${ledger.db}.usage_raw`);
    expect(await daily({ timezone: "Asia/Kolkata" }, now)).toEqual(before);
    expect(await breakdown({ timezone: "Asia/Kolkata" }, now)).toHaveLength(4);
  });

  it("leave out unknown callers and internal traffic like other reads", async () => {
    const now = Date.UTC(2026, 0, 9, 12);
    await ledger.insert(someTraffic(now));
    const query = { start_day: "2026-01-01", end_day: "2026-01-31" };
    for (const timezone of ["Asia/Kolkata", "UTC"]) {
      const groups = async (more: Query): Promise<readonly (readonly [string, number])[]> =>
        (await daily({ ...query, timezone, group_by: "tenant", ...more }, now)).map((row) => [
          row.tenant_id,
          row.requests,
        ]);
      expect(await groups({})).toEqual([
        [TENANT, 3],
        [OTHER_TENANT, 1],
      ]);
      expect(await groups({ include_internal: "true" })).toContainEqual([NIL_UUID, 2]);
    }
    expect(sum((await breakdown(query, now)).map((row) => row.requests))).toBe(4);
    expect(sum((await breakdown({ ...query, include_internal: "true" }, now)).map((row) => row.requests))).toBe(5);
  });

  it("of any length are read within what is kept", async () => {
    await ledger.insert(rows);
    const all = { timezone: "Pacific/Chatham", start_day: "0001-01-01", end_day: "9999-12-31" };
    expect(sum((await daily(all, NOW)).map((row) => row.requests))).toBe(rows.length);
    for (const end of ["1999-01-01", "0001-01-01"])
      expect({
        daily: await daily({ ...all, end_day: end }, NOW),
        breakdown: await breakdown({ ...all, end_day: end }, NOW),
      }).toEqual({ daily: [], breakdown: [] });
  });

  it.each([
    [{ timezone: "Mars/Olympus" }, "timezone"],
    [{ timezone: "+05:30" }, "timezone"],
    [{ start_day: "2026-02-30" }, "start_day"],
    [{ timezone: "UTC", since_ms: "0" }, "since_ms"],
    [{ start_day: "2026-02-03", until_ms: "0" }, "since_ms"],
  ])("refuse %o by its field", (query, field) => {
    for (const schema of [usageBreakdownQuerySchema, costsQuerySchema])
      expect(schema.safeParse(query).error?.issues.map(({ path }) => path)).toEqual([[field]]);
  });
});

describe("percentiles", () => {
  const NOW = Date.UTC(2026, 3, 10);
  const FIGURES = ["ttft_ms", "total_ms", "queue_wait_ms"] as const;
  const LEVELS = { p50: 0.5, p95: 0.95, p99: 0.99 } as const;

  it("are those of single requests within 1 %, over successes, of every day and group", async () => {
    // times of all sizes, from milliseconds to half an hour
    const rows = Array.from({ length: 3000 }, (_, at) => {
      const spread = Math.round(1.005 ** ((at * 7919) % 2800));
      return ledgerRow(NOW - DAY_MS - at * 60_000, {
        ttft_ms: spread,
        total_ms: spread + 1000,
        queue_wait_ms: at % 2 === 0 ? 0 : spread,
        status_code: at % 10 === 0 ? 500 : 200,
      });
    });
    await ledger.insert(rows);
    for (const timezone of ["UTC", "Asia/Kolkata"]) {
      const days = await daily({ timezone, start_day: "2026-04-01" }, NOW);
      expect(days.length).toBeGreaterThan(2);
      for (const day of days) {
        const served = rows.filter((row) => row.status_code === 200 && dayIn(timezone, row.ts_ms) === day.day);
        for (const figure of FIGURES) {
          const values = served.map((row) => row[figure]).sort((a, b) => a - b);
          for (const [name, level] of Object.entries(LEVELS)) {
            if (values.length === 0) continue;
            const shown = day[`${name}_${figure}` as keyof DailySums] as number;
            // between its neighbours, because definitions of a quantile differ by one place
            const at = level * (values.length - 1);
            const low = values[Math.max(0, Math.floor(at) - 1)] ?? 0;
            const high = values[Math.min(values.length - 1, Math.ceil(at) + 1)] ?? 0;
            expect(shown).toBeGreaterThanOrEqual(low * 0.99 - 0.1);
            expect(shown).toBeLessThanOrEqual(high * 1.01 + 0.1);
          }
        }
      }
    }
  });

  it("are null where nothing was served", async () => {
    await ledger.insert([ledgerRow(NOW - 1000, { status_code: 500 })]);
    for (const timezone of ["UTC", "Asia/Kolkata"])
      expect(await daily({ timezone }, NOW)).toMatchObject([
        { requests: 1, p50_ttft_ms: null, p99_total_ms: null, p95_queue_wait_ms: null, avg_ttft_ms: 0 },
      ]);
  });
});

describe("the rollup by quarters", () => {
  const countIn = async (table: string): Promise<number> =>
    (await ledger.store.rows<{ n: number }>(`SELECT count() AS n FROM ${ledger.db}.${table}`, {}))[0]?.n ?? 0;

  afterEach(async () => {
    await ledger.run(`DROP DATABASE IF EXISTS ${ledger.db}`);
    const again = ledger.another();
    await again.migrate();
    await again.close();
  });

  it("counts a batch that is sent twice once", async () => {
    const now = Date.now();
    const batch = [ledgerRow(now - 1000), ledgerRow(now - 1000)];
    await ledger.insert(batch, "same");
    await ledger.insert(batch, "same");
    expect((await daily({ timezone: "Asia/Kolkata" }, now)).map(({ requests }) => requests)).toEqual([2]);
  });

  it("counts each row once after an upgrade from a version without it", async () => {
    for (const table of ["usage_quarter_outcomes_mv", "usage_quarter_hits_mv", "usage_quarter_mv", "usage_quarter"])
      await ledger.run(`DROP TABLE ${ledger.db}.${table}`);
    const old = ledgerRow(Date.now() - DAY_MS, { total_ms: 100 });
    await ledger.insert([old]);
    const [one, other] = [ledger.another(), ledger.another()];
    await one.migrate();
    const startMs = await other.quartersFromMs();
    expect(startMs).toBeGreaterThanOrEqual(Date.now() + 3_500_000);
    expect(await one.quartersFromMs()).toBe(startMs);
    await ledger.insert([ledgerRow(startMs - 1, { total_ms: 200 }), ledgerRow(startMs, { total_ms: 300 })]);
    expect(await countIn("usage_quarter")).toBe(1);
    for (const timezone of ["Asia/Kolkata", "UTC"]) {
      const read = await daily({ timezone, group_by: "model" }, startMs + 1000, other);
      expect(read).toMatchObject([{ requests: 3, p50_total_ms: 200 }]);
    }
    await one.close();
    await other.close();
  });

  it.each([-5, 0, 0.5, Number.NaN, 1e15])("loses nothing to a window of %d days", async (days) => {
    const now = Date.now();
    await ledger.insert([ledgerRow(now - 3 * DAY_MS)]);
    await expect(dropExpired(ledger.store, days, now)).rejects.toThrow(RangeError);
    expect(await countIn("usage_raw")).toBe(1);
  });

  it("is kept for 400 days, by whole months", async () => {
    const now = Date.UTC(2026, 10, 23);
    const [young, old] = [ledgerRow(now - 400 * DAY_MS), ledgerRow(now - 433 * DAY_MS)];
    await ledger.insert([young]);
    await ledger.insert([old]);
    await dropExpired(ledger.store, 1000, now);
    expect(await countIn("usage_quarter")).toBe(1);
    expect(await countIn("usage_daily")).toBe(2);
    expect(await countIn("usage_raw")).toBe(2);
  });
});
