/** The columns of the analytics store, compared with those that the gateway made, and what mends them. */
import { expect, it } from "vitest";
import { z } from "zod";
import { TestLedger } from "../../../test/harness/ledger.ts";
import { columnDrift, columnSchema, columnsQuery } from "./schema-drift.ts";

const ledger = new TestLedger();
ledger.use();

const drift = async () =>
  columnDrift(ledger.db, z.array(columnSchema).parse(await ledger.store.rows(columnsQuery(ledger.db), {})));

it("names columns that were dropped or changed until they are mended", async () => {
  expect(await drift()).toEqual([]);
  for (const change of [
    "usage_raw DROP COLUMN end_user",
    "usage_raw DROP COLUMN endpoint",
    "usage_raw MODIFY COLUMN weight UInt64",
    "spans DROP COLUMN attributes",
    "usage_raw ADD COLUMN of_another String",
  ])
    await ledger.run(`ALTER TABLE ${ledger.db}.${change}`);
  const found = await drift();
  expect(found.map(({ detail }) => detail)).toEqual([
    "usage_raw.end_user is missing",
    "usage_raw.weight is UInt64 instead of UInt32",
    "usage_raw.endpoint is missing",
    "spans.attributes is missing",
  ]);
  for (const { statement } of found) await ledger.run(statement);
  expect(await drift()).toEqual([]);
});

it("leaves out tables that are missing as a whole", () => {
  expect(columnDrift("gateway", [])).toEqual([]);
});
