/**
 * Usage by what clients state of a request, its tags and its end user, against the real engine
 * (docs/rules/usage-reads.md#groups-of-clients).
 *
 * @module-tag check
 */
import { describe, expect, it } from "vitest";
import { costsQuerySchema } from "../../../shared/schema/cost-reads.ts";
import { usageLogsQuerySchema } from "../../../shared/schema/usage.ts";
import {
  usageBreakdownQuerySchema,
  usageDailyQuerySchema,
  usageTotalsQuerySchema,
} from "../../../shared/schema/usage-reads.ts";
import { NIL_UUID, type UsageRow } from "../../../shared/usage/usage-row.ts";
import { ledgerRow, TENANT, TestLedger } from "../../../test/harness/ledger.ts";
import { DAY_MS, OTHER_TENANT } from "../../../test/harness/ledger-traffic.ts";
import { dropExpired } from "./retention.ts";
import { readCosts } from "./usage-costs.ts";
import { readDaily } from "./usage-daily.ts";
import { readLogs } from "./usage-logs.ts";
import { readBreakdown, readTotals } from "./usage-totals.ts";

const NOW = Date.UTC(2026, 0, 9, 12);
const ledger = new TestLedger();
ledger.use();

const row = (tokens: number, change: Partial<UsageRow> = {}, ageMs = 1000): UsageRow =>
  ledgerRow(NOW - ageMs, { total_tokens: tokens, input_tokens: tokens, cost_usd: tokens / 1000, ...change });

/** Two end users of one name, of different tenants; a value that begins like another one, and a tag within a value. */
const ROWS = [
  row(1, { end_user: "u-1", tags: "env=prod,team=search" }),
  row(2, { end_user: "u-1", tags: "team=search", model: "n" }, 2 * DAY_MS),
  row(4, { end_user: "u-1", tags: "team=search2", tenant_id: OTHER_TENANT }),
  row(8, { end_user: "it's \\ u", tags: "note=team=search" }),
  row(16, { status_code: 500 }),
];
const SINCE = { since_ms: String(NOW - 3 * DAY_MS) };
const DAYS = { start_day: "2026-01-06", timezone: "Europe/Vienna" };

const BY_USER = [
  { end_user: "", tenant_id: TENANT, total_tokens: 16 },
  { end_user: "it's \\ u", tenant_id: TENANT, total_tokens: 8 },
  { end_user: "u-1", tenant_id: OTHER_TENANT, total_tokens: 4 },
  { end_user: "u-1", tenant_id: TENANT, total_tokens: 3 },
];
const BY_TEAM = [
  { tag_value: "", total_tokens: 24 },
  { tag_value: "search2", total_tokens: 4 },
  { tag_value: "search", total_tokens: 3 },
];
const TEAM = { group_by: "tag", tag_name: "team" };
const USER = { group_by: "end_user" };

describe("the groups of clients", () => {
  it("have the totals of end users and of a tag's values", async () => {
    await ledger.insert(ROWS);
    const totals = async (query: object) =>
      await readTotals(ledger.store, usageTotalsQuerySchema.parse({ ...SINCE, ...query }), NOW);
    expect(await totals(USER)).toMatchObject(BY_USER);
    expect(await totals(TEAM)).toMatchObject(BY_TEAM);
    expect(await totals({ ...USER, tenant_id: OTHER_TENANT })).toMatchObject([{ end_user: "u-1", requests: 1 }]);
    expect(await totals({ ...USER, limit: "1" })).toHaveLength(1);
  });

  it("have a breakdown, by instants and by days of a zone", async () => {
    await ledger.insert(ROWS);
    const breakdown = async (query: object) =>
      await readBreakdown(ledger.store, usageBreakdownQuerySchema.parse(query), NOW);
    for (const period of [SINCE, DAYS]) {
      expect(await breakdown({ ...period, ...USER })).toMatchObject(BY_USER);
      expect(await breakdown({ ...period, ...TEAM })).toMatchObject(BY_TEAM);
    }
    expect((await breakdown({ ...SINCE, ...TEAM })).at(0)).toMatchObject({
      model: "",
      key_id: NIL_UUID,
      tenant_id: NIL_UUID,
      end_user: "",
      success_requests: 1,
      error_requests: 1,
    });
  });

  it("have the daily figures", async () => {
    await ledger.insert(ROWS);
    const daily = async (query: object) => await readDaily(ledger.store, usageDailyQuerySchema.parse(query), NOW);
    expect(await daily({ ...DAYS, ...USER })).toMatchObject(BY_USER);
    expect(await daily({ ...DAYS, ...TEAM })).toMatchObject(BY_TEAM);
    expect(await daily({ ...DAYS, group_by: "day" })).toMatchObject([{ end_user: "" }, { tag_value: "", requests: 4 }]);
  });

  it("have the cost of each model", async () => {
    await ledger.insert(ROWS);
    const costs = async (query: object) => await readCosts(ledger.store, costsQuerySchema.parse(query), NOW);
    for (const period of [SINCE, DAYS])
      expect(await costs({ ...period, ...USER, tenant_id: TENANT })).toMatchObject([
        { model: "m", end_user: "", total_cost: 0.016 },
        { model: "m", end_user: "it's \\ u", total_cost: 0.008 },
        { model: "n", end_user: "u-1", total_cost: 0.002 },
        { model: "m", end_user: "u-1", total_cost: 0.001 },
      ]);
    expect((await costs({ ...SINCE, ...TEAM })).map(({ model, tag_value }) => [model, tag_value])).toEqual([
      ["m", ""],
      ["m", "search2"],
      ["n", "search"],
      ["m", "search"],
    ]);
  });

  it("count only requests whose rows are kept", async () => {
    await ledger.insert(ROWS);
    await dropExpired(ledger.store, 1, NOW);
    const query = usageTotalsQuerySchema.parse({ ...SINCE, ...USER, tenant_id: TENANT });
    expect((await readTotals(ledger.store, query, NOW)).map((each) => [each.end_user, each.total_tokens])).toEqual([
      ["", 16],
      ["it's \\ u", 8],
      ["u-1", 1],
    ]);
  });

  it("are filters of the log", async () => {
    await ledger.insert(ROWS);
    const tokens = async (query: object) =>
      (await readLogs(ledger.store, usageLogsQuerySchema.parse({ ...SINCE, ...query }), NOW)).map(
        (each) => each.total_tokens,
      );
    expect(await tokens({ end_user: "it's \\ u" })).toEqual([8]);
    expect(await tokens({ tag: "team=search" })).toEqual([1, 2]);
    expect(await tokens({ tag: "env=prod", end_user: "u-1" })).toEqual([1]);
  });
});

it.each([
  ["a tag without its name", { group_by: "tag" }],
  ["a name without the group", { tag_name: "team" }],
  ["a name that no tag can have", { group_by: "tag", tag_name: "a=b" }],
])("%s is refused, naming tag_name", (_, query) => {
  for (const schema of [usageTotalsQuerySchema, usageBreakdownQuerySchema, usageDailyQuerySchema, costsQuerySchema])
    expect(schema.safeParse(query).error?.issues.map(({ path }) => path)).toEqual([["tag_name"]]);
});
