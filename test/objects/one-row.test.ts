/**
 * One row and one count for each request, however many permits it had and however many lives its Cell had
 * (docs/rules/settlement-and-rows.md#exactly-once).
 */
import { abortAllDurableObjects, env, evictDurableObject, runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import type { PermitHandle } from "../../edge/domain/admission/rpc.ts";
import { SHIPPED_KEEP_MS } from "../../edge/domain/ledger/ledger-log.ts";
import type { CellObject } from "../../edge/objects/cell/cell.ts";
import type { LedgerObject } from "../../edge/objects/ledger/ledger.ts";
import { waitFor } from "../harness/wait-for.ts";
import { admissionRequestFor, settlementFor } from "./admission-messages.ts";
import { drain, stored } from "./ledger-world.ts";

const { CELL, LEDGER } = env as unknown as {
  CELL: DurableObjectNamespace<CellObject>;
  LEDGER: DurableObjectNamespace<LedgerObject>;
};

const permitOf = (answer: unknown): PermitHandle => (answer as { readonly permit: PermitHandle }).permit;

it("leaves one row of a request that was shipped, forgotten and then adopted after a reset", async () => {
  const request = crypto.randomUUID();
  permitOf(await CELL.getByName("forgotten").admit(admissionRequestFor(request)))[Symbol.dispose]();
  const ledger = LEDGER.getByName("forgotten:0");
  // The Ledger ships by itself a quarter of a second after the row has come.
  await waitFor(
    async () => {
      await drain(ledger);
      return await stored([request]);
    },
    (rows) => rows.length === 1,
  );
  // This was so long ago that the log has nothing of it.
  await runInDurableObject(ledger, (_ledger, { storage }) => {
    storage.sql.exec("UPDATE shipped SET at = at - ?", 2 * SHIPPED_KEEP_MS);
  });
  const other = crypto.randomUUID();
  await permitOf(await CELL.getByName("forgotten").admit(admissionRequestFor(other))).settle(settlementFor(other));
  await drain(ledger);
  await evictDurableObject(ledger);
  await abortAllDurableObjects();
  await permitOf(await CELL.getByName("forgotten").adopt(admissionRequestFor(request))).settle(settlementFor(request));
  await drain(LEDGER.getByName("forgotten:0"));
  expect(await stored([request, other])).toEqual([request, other]);
});

it("counts a request once whose row comes again after its Cell was reset", { tags: ["check"] }, async () => {
  const request = crypto.randomUUID();
  const cell = () => CELL.getByName("counted");
  const counted = async () => {
    const { families } = await cell().metrics();
    const samples = families.find(({ name }) => name === "gateway_requests_total")?.samples ?? [];
    return samples.reduce((sum, { value }) => sum + value, 0);
  };
  await permitOf(await cell().admit(admissionRequestFor(request))).settle(settlementFor(request));
  expect(await counted()).toBe(1);
  // What the Cell has counted is on its disk after its next report.
  await waitFor(
    async () =>
      await runInDurableObject(cell(), (_cell, { storage }) =>
        storage.sql.exec("SELECT value FROM meta WHERE name = 'counters'").toArray(),
      ),
    (saved) => saved.length === 1,
  );
  await abortAllDurableObjects();
  await cell().settleOrphan(settlementFor(request).row);
  expect(await counted()).toBe(1);
  await cell().settleOrphan(settlementFor(crypto.randomUUID()).row);
  expect(await counted()).toBe(2);
});
