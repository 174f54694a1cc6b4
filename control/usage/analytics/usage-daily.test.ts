/**
 * The permanent rollup, and the retention of the rows that it is made from, against the real engine
 * (docs/rules/settings.md#usage-retention, docs/rules/storage-layouts.md#usage-daily).
 *
 * @module-tag check
 */
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import {
  keySummariesQuerySchema,
  usageDailyQuerySchema,
  usageTotalsQuerySchema,
} from "../../../shared/schema/usage-reads.ts";
import { NIL_UUID, type UsageRow } from "../../../shared/usage/usage-row.ts";
import { KEY, ledgerRow, TENANT, TestLedger } from "../../../test/harness/ledger.ts";
import { DAY_MS, OTHER_KEY, OTHER_TENANT, someTraffic, used } from "../../../test/harness/ledger-traffic.ts";
import { readKeySummaries } from "./key-summaries.ts";
import { dropExpired } from "./retention.ts";
import { readDaily } from "./usage-daily.ts";
import { readTotals } from "./usage-totals.ts";

const NOW = Date.UTC(2026, 0, 9, 12);
const ledger = new TestLedger();
ledger.use();

const row = (change: Partial<UsageRow> = {}): UsageRow => ledgerRow(NOW - 1000, change);

describe("the daily rollup", () => {
  const daily = async (query: Record<string, string> = {}) =>
    await readDaily(ledger.store, usageDailyQuerySchema.parse(query), NOW);

  it("can be read by day, tenant, key, model, and key and model", async () => {
    await ledger.insert(someTraffic(NOW));
    const days = await daily();
    expect(
      days.map(({ day, requests, success_requests, error_requests }) => [
        day,
        requests,
        success_requests,
        error_requests,
      ]),
    ).toEqual([
      ["2026-01-07", 1, 1, 0],
      ["2026-01-09", 3, 2, 1],
    ]);
    expect(days[1]).toMatchObject({
      tenant_id: NIL_UUID,
      key_id: NIL_UUID,
      model: "",
      ...used(111, 222, 0.16),
      avg_ttft_ms: 75,
      avg_total_ms: 825,
    });
    expect((await daily({ group_by: "tenant" })).map((one) => [one.day, one.tenant_id, one.total_tokens])).toEqual([
      ["", TENANT, 1033],
      ["", OTHER_TENANT, 300],
    ]);
    expect(
      (await daily({ group_by: "key", key_id: `${KEY.toUpperCase()},${OTHER_KEY}` })).map((one) => one.key_id),
    ).toEqual([KEY, OTHER_KEY]);
    expect((await daily({ group_by: "model", model: "n" })).map((one) => [one.model, one.requests])).toEqual([
      ["n", 1],
    ]);
    expect(await daily({ group_by: "key_model", start_day: "2026-01-09", end_day: "2026-01-09" })).toHaveLength(3);
    expect(await daily({ start_day: "2026-01-08", end_day: "2026-01-08" })).toEqual([]);
    expect((await daily({ include_internal: "true", group_by: "tenant" })).map((one) => one.tenant_id)).toContain(
      NIL_UUID,
    );
  });

  it("is kept after the raw rows that it was made from", async () => {
    await ledger.insert(someTraffic(NOW));
    await ledger.run(`TRUNCATE TABLE ${ledger.db}.usage_raw`);
    expect(await daily()).toHaveLength(2);
    const since = { since_ms: String(NOW - 3 * DAY_MS) };
    expect(await readTotals(ledger.store, usageTotalsQuerySchema.parse(since), NOW)).toMatchObject([
      { tenant_id: TENANT, requests: 1, total_tokens: 1000 },
    ]);
    expect(await readKeySummaries(ledger.store, keySummariesQuerySchema.parse(since), NOW)).toMatchObject([
      { key_id: KEY, total_tokens: 1000, last_used_ms: 0, last_model: "", last_status_code: 0 },
    ]);
  });

  it.each([
    [{ key_id: "x" }, "key_id"],
    [{ key_id: Array.from({ length: 501 }, () => randomUUID()).join(",") }, "key_id"],
    [{ start_day: "2026-02-30" }, "start_day"],
    [{ end_day: "yesterday" }, "end_day"],
    [{ group_by: "hour" }, "group_by"],
  ])("refuses %o by its field", (query, field) => {
    expect(usageDailyQuerySchema.safeParse(query).error?.issues[0]?.path).toEqual([field]);
  });
});

describe("retention", () => {
  it("drops whole days before the window, spans too, and keeps the rollup", async () => {
    const days = [0, 1, 2, 3].map((age) => NOW - age * DAY_MS);
    await ledger.insert(days.map((ts_ms) => row({ ts_ms })));
    await ledger.insertSpans(
      days.map((start_ms) => ({ request_id: randomUUID(), span_name: "proxy_request", start_ms })),
    );
    expect(await dropExpired(ledger.store, 1, NOW)).toBe(4);
    expect(await dropExpired(ledger.store, 1, NOW)).toBe(0);
    const left = async (table: string) =>
      (await ledger.store.rows<{ n: number }>(`SELECT count() AS n FROM ${ledger.db}.${table}`, {}))[0]?.n;
    expect({ usageRaw: await left("usage_raw"), spans: await left("spans") }).toEqual({ usageRaw: 2, spans: 2 });
    expect(await readDaily(ledger.store, usageDailyQuerySchema.parse({}), NOW)).toHaveLength(4);
  });
});
