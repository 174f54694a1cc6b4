/**
 * Rows of a Worker that is newer than the tables (docs/rules/storage-layouts.md#usage-raw): they are stored without the
 * columns that the tables lack, and are not refused.
 */
import { expect, it } from "vitest";
import { analyticsStoreOf } from "../../../edge/adapters/clickhouse-insert.ts";
import { usageRowLine } from "../../../edge/domain/ledger/row-line.ts";
import { ledgerRow, TestLedger } from "../../../test/harness/ledger.ts";

const ledger = new TestLedger();
ledger.use();

it("rows with columns that the table does not have are stored without them", async () => {
  await ledger.run(`ALTER TABLE ${ledger.db}.usage_raw DROP COLUMN error_code`);
  const row = ledgerRow(Date.now(), { error_code: "client_gone", endpoint: "second", total_tokens: 7 });
  const { json } = usageRowLine(row);
  await analyticsStoreOf(ledger.place).insert("usage_raw", [json], "token");
  const stored = await ledger.store.rows(
    `SELECT toString(request_id) AS id, endpoint, total_tokens FROM ${ledger.db}.usage_raw`,
    {},
  );
  expect(stored).toEqual([{ id: row.request_id, endpoint: "second", total_tokens: 7 }]);
});
