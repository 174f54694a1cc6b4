/**
 * Pruning by the retention setting on an admin's request, against the real engine
 * (docs/rules/settings.md#usage-retention).
 *
 * @module-tag check
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { startControl, type TestControl } from "../../../test/harness/control.ts";
import { ledgerRow, TestLedger } from "../../../test/harness/ledger.ts";
import { DAY_MS } from "../../../test/harness/ledger-traffic.ts";

const ledger = new TestLedger();
ledger.use();
let control: TestControl;

beforeAll(async () => {
  control = await startControl({ analytics: ledger.store });
});
afterAll(async () => {
  await control.close();
});

const answer = async (method: string, path: string, body?: unknown): Promise<unknown> =>
  (await control.request(method, `/api/v1${path}`, body)).json();

it("drops whole days beyond the current retention, keeps the rollup and writes an audit entry", async () => {
  const nowMs = Date.now();
  const ages = [0, 1, 2, 3, 40];
  await ledger.insert(ages.map((age) => ledgerRow(nowMs - age * DAY_MS)));
  const compact = async (): Promise<unknown> => await answer("POST", "/usage/compact");
  expect(await compact()).toEqual({ retention_days: 180, partitions_dropped: 0 });
  await answer("PUT", "/settings/usage-retention", { days: 30 });
  expect(await compact()).toEqual({ retention_days: 30, partitions_dropped: 1 });
  expect(await answer("PUT", "/settings/usage-retention", { days: 0 })).toMatchObject({
    error: { code: "validation_failed", param: "days" },
  });
  await answer("PUT", "/settings/usage-retention", { days: 1 });
  expect(await compact()).toEqual({ retention_days: 1, partitions_dropped: 2 });
  const since = nowMs - 50 * DAY_MS;
  expect(await answer("GET", `/usage/logs?since_ms=${since}`)).toHaveLength(2);
  const day = new Date(since).toISOString().slice(0, 10);
  expect(await answer("GET", `/usage/daily?start_day=${day}&group_by=tenant`)).toMatchObject([{ requests: 5 }]);
  expect(await answer("GET", "/audit?action=compact_usage&limit=1")).toMatchObject([
    { entity_type: "usage", detail: { retention_days: 1, partitions_dropped: 2 } },
  ]);
});
