/**
 * Rows with a column that the table lacks (docs/rules/storage-layouts.md#changed-columns).
 *
 * @module-tag check
 */
import { expect, it } from "vitest";
import { analyticsStoreOf } from "../../../edge/adapters/clickhouse-insert.ts";
import { usageRowLine } from "../../../edge/domain/ledger/row-line.ts";
import { ledgerRow, TestLedger } from "../../../test/harness/ledger.ts";

const ledger = new TestLedger();
ledger.use();

it("wait until the table has the column, and are not refused", async () => {
  await ledger.run(`ALTER TABLE ${ledger.db}.usage_raw DROP COLUMN endpoint`);
  const row = ledgerRow(Date.now(), { error_code: "client_gone", endpoint: "second", total_tokens: 7 });
  const { json } = usageRowLine(row);
  const insert = async (): Promise<void> => await analyticsStoreOf(ledger.place).insert("usage_raw", [json], "token");
  await expect(insert()).rejects.toMatchObject({
    name: "StoreFailure",
    message: expect.stringMatching(/: ClickHouse code 117: the table lacks the column endpoint$/),
  });
  await ledger.run(`ALTER TABLE ${ledger.db}.usage_raw ADD COLUMN endpoint LowCardinality(String)`);
  await insert();
  const stored = await ledger.store.rows(
    `SELECT toString(request_id) AS id, endpoint, total_tokens FROM ${ledger.db}.usage_raw`,
    {},
  );
  expect(stored).toEqual([{ id: row.request_id, endpoint: "second", total_tokens: 7 }]);
});
