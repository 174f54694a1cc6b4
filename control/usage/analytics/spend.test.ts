/**
 * Spend by day and group, and of this month beside the last one, against the real engine (docs/rules/usage-reads.md#months).
 *
 * @module-tag check
 */
import { describe, expect, it } from "vitest";
import { dailySpendQuerySchema, monthSpendQuerySchema } from "../../../shared/schema/cost-reads.ts";
import { usageDailyQuerySchema } from "../../../shared/schema/usage-reads.ts";
import { NIL_UUID, type UsageRow } from "../../../shared/usage/usage-row.ts";
import { KEY, ledgerRow, TENANT, TestLedger } from "../../../test/harness/ledger.ts";
import { OTHER_KEY, OTHER_TENANT } from "../../../test/harness/ledger-traffic.ts";
import { readMonthSpend } from "./month-spend.ts";
import { readDailySpend } from "./spend-days.ts";
import { readDaily } from "./usage-daily.ts";

/** Noon of the 30th of a month that follows one of 28 days. */
const NOW = Date.UTC(2026, 2, 30, 12);
const ledger = new TestLedger();
ledger.use();

const spent = (at: string, usd: number, change: Partial<UsageRow> = {}): UsageRow =>
  ledgerRow(Date.parse(at), { cost_usd: usd, total_tokens: 10, attempts: 1, ...change });
const months = async (query: object, nowMs = NOW) =>
  await readMonthSpend(ledger.store, monthSpendQuerySchema.parse(query), nowMs);
const daily = async (query: object, nowMs = NOW) =>
  await readDailySpend(ledger.store, dailySpendQuerySchema.parse(query), nowMs);

describe("the spend of a month", () => {
  it("has the last month, its same days, this month to date and a forecast, by group", async () => {
    await ledger.insert([
      spent("2026-02-10T10:00:00Z", 4),
      spent("2026-02-28T10:00:00Z", 2, { model: "n" }),
      spent("2026-03-02T10:00:00Z", 10),
      // one of the seven days before today
      spent("2026-03-25T10:00:00Z", 7),
      spent("2026-03-30T11:00:00Z", 1, { model: "n", tenant_id: OTHER_TENANT, key_id: OTHER_KEY }),
      // of no month that is shown
      spent("2026-01-31T23:59:59Z", 100),
    ]);
    const sums = await months({ group_by: "model" });
    expect(sums).toMatchObject({
      timezone: "UTC",
      today: "2026-03-30",
      month_start: "2026-03-01",
      month_end: "2026-03-31",
      last_month_start: "2026-02-01",
      same_days_end: "2026-02-28",
      last_month_usd: 6,
      same_days_usd: 6,
      month_to_date_usd: 18,
      // a dollar a day of the last week, for half of today and the last day
      forecast_usd: 19.5,
      groups: [
        { model: "m", last_month_usd: 4, month_to_date_usd: 17, forecast_usd: 18.5 },
        { model: "n", last_month_usd: 2, month_to_date_usd: 1, forecast_usd: 1 },
      ],
    });
    const [first] = sums.groups;
    expect(first).toMatchObject({ tenant_id: NIL_UUID, key_id: NIL_UUID, endpoint: "", end_user: "", tag_value: "" });
    const ofTenants = await months({ group_by: "tenant" });
    expect(ofTenants.groups.map(({ tenant_id, month_to_date_usd }) => [tenant_id, month_to_date_usd])).toEqual([
      [TENANT, 17],
      [OTHER_TENANT, 1],
    ]);
    expect(await months({ group_by: "key", tenant_id: OTHER_TENANT })).toMatchObject({
      month_to_date_usd: 1,
      groups: [{ key_id: OTHER_KEY }],
    });
  });

  it("compares the same days of a longer month, and ends days by the zone", async () => {
    await ledger.insert([
      // the 14th in Kolkata, the 13th in UTC
      spent("2026-03-13T20:00:00Z", 1),
      spent("2026-03-14T20:00:00Z", 2),
      spent("2026-04-14T03:00:00Z", 4),
    ]);
    const now = Date.parse("2026-04-14T04:00:00Z");
    expect(await months({ timezone: "Asia/Kolkata" }, now)).toMatchObject({
      today: "2026-04-14",
      same_days_end: "2026-03-14",
      last_month_usd: 3,
      same_days_usd: 1,
      month_to_date_usd: 4,
    });
    expect(await months({}, now)).toMatchObject({ same_days_usd: 3 });
  });

  it("is nothing without requests", async () => {
    expect(await months({ group_by: "tag", tag_name: "team" })).toMatchObject({
      last_month_usd: 0,
      month_to_date_usd: 0,
      forecast_usd: 0,
      groups: [],
    });
  });
});

describe("spend by day", () => {
  const rows = [
    spent("2026-03-28T10:00:00Z", 5, { end_user: "a", tags: "team=x", endpoint: "gpu-1" }),
    spent("2026-03-28T11:00:00Z", 3, { end_user: "b", model: "n", served_model: "o" }),
    spent("2026-03-29T10:00:00Z", 2, { end_user: "c", model: "o", cost_usd: 2 }),
    spent("2026-03-29T11:00:00Z", 1, { end_user: "a", attempts: 0 }),
  ];
  const DAYS = { start_day: "2026-03-28", end_day: "2026-03-29" };

  it("names the most expensive groups and adds up the others, and has the day's whole spend", async () => {
    await ledger.insert(rows);
    const shown = await daily({ ...DAYS, group_by: "model", top: "1" });
    expect(shown.map((row) => [row.day, row.is_rest, row.model, row.cost_usd])).toEqual([
      ["2026-03-28", false, "m", 5],
      ["2026-03-28", true, "", 3],
      ["2026-03-29", false, "m", 1],
      ["2026-03-29", true, "", 2],
    ]);
    for (const query of [
      { group_by: "tenant" },
      { group_by: "key" },
      { group_by: "end_user", top: "2" },
      { group_by: "tag", tag_name: "team" },
      { group_by: "endpoint", timezone: "Europe/Vienna" },
    ]) {
      const found = await daily({ ...DAYS, ...query });
      const sums = (day: string) => found.filter((row) => row.day === day).reduce((sum, row) => sum + row.cost_usd, 0);
      expect({ query, days: [sums("2026-03-28"), sums("2026-03-29")] }).toEqual({ query, days: [8, 3] });
    }
    expect(await daily({ ...DAYS, group_by: "key" })).toMatchObject([{ key_id: KEY }, { key_id: KEY }]);
  });

  it("names the endpoint that was called last with its model, and no endpoint without a call", async () => {
    await ledger.insert(rows);
    const query = usageDailyQuerySchema.parse({ ...DAYS, group_by: "endpoint" });
    const byName = (await readDaily(ledger.store, query, NOW)).map(({ model, endpoint, cost_usd }) => ({
      model,
      endpoint,
      cost_usd,
    }));
    expect(new Set(byName)).toEqual(
      new Set([
        { model: "m", endpoint: "gpu-1", cost_usd: 5 },
        { model: "o", endpoint: "", cost_usd: 5 },
        { model: "", endpoint: "", cost_usd: 1 },
      ]),
    );
  });
});
