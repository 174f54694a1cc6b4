/**
 * One row and one count for each request, however often it was told of and however many lives its Cell had
 * (docs/rules/settlement-and-rows.md#exactly-once).
 */
import { abortAllDurableObjects, env, evictDurableObject, runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { SHIPPED_KEEP_MS } from "../../edge/domain/ledger/ledger-log.ts";
import type { LedgerObject } from "../../edge/objects/ledger/ledger.ts";
import { waitFor } from "../harness/wait-for.ts";
import { settlementFor } from "./admission-messages.ts";
import { ObjectIsolate } from "./exchange-isolate.ts";
import { drain, stored } from "./ledger-world.ts";

const { LEDGER } = env as unknown as { LEDGER: DurableObjectNamespace<LedgerObject> };

it("leaves one row of a request that was shipped, forgotten and then taken back after a reset", async () => {
  const isolate = new ObjectIsolate("forgotten");
  const lost = await isolate.begin();
  const { requestId } = lost.request;
  await isolate.stub.settleOrphan(settlementFor(requestId).row);
  const ledger = LEDGER.getByName("forgotten:0");
  // The Ledger ships a quarter of a second after the row has come.
  await waitFor(
    async () => {
      await drain(ledger);
      return await stored([requestId]);
    },
    (rows) => rows.length === 1,
  );
  // This was so long ago that the log has nothing of it.
  await runInDurableObject(ledger, (_ledger, { storage }) => {
    storage.sql.exec("UPDATE shipped SET at = at - ?", 2 * SHIPPED_KEEP_MS);
  });
  const other = await isolate.begin();
  await isolate.end(other);
  await drain(ledger);
  await evictDurableObject(ledger);
  await abortAllDurableObjects();
  await isolate.load(1);
  await isolate.end(lost);
  await drain(LEDGER.getByName("forgotten:0"));
  const ids = [requestId, other.request.requestId];
  expect(await stored(ids)).toEqual(ids);
});

it("does not count a row that comes again after its Cell was reset", async () => {
  const isolate = new ObjectIsolate("counted");
  const counted = async () => {
    const { families } = await isolate.stub.metrics();
    const samples = families.find(({ name }) => name === "gateway_requests_total")?.samples ?? [];
    return samples.reduce((sum, { value }) => sum + value, 0);
  };
  const one = await isolate.begin();
  await isolate.end(one);
  expect(await counted()).toBe(1);
  await abortAllDurableObjects();
  const { requestId } = one.request;
  await isolate.stub.settleOrphan(settlementFor(requestId).row);
  expect(await counted()).toBe(0);
  await isolate.stub.settleOrphan(settlementFor(crypto.randomUUID()).row);
  expect(await counted()).toBe(1);
});
