/**
 * What a cell reports of its last hour and its last minute when its object was idle and has lost its memory
 * (docs/rules/fairshare.md#history).
 *
 * @module-tag long
 */
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { waitFor } from "../harness/wait-for.ts";
import { ObjectIsolate } from "./exchange-isolate.ts";

it("keeps its samples and active tenants while it is idle, in one disk row per minute", async () => {
  const isolate = new ObjectIsolate("rests");
  const cell = isolate.stub;
  await isolate.end(await isolate.begin());
  await cell.metrics();
  const onDisk = async (query: string) =>
    await runInDurableObject(cell, (_cell, { storage }) => storage.sql.exec(query).toArray());
  await waitFor(
    async () => await onDisk("SELECT 1 FROM meta WHERE name = 'busy'"),
    (rows) => rows.length === 0,
  );
  const before = await cell.fairshareHistory(0);
  const rows = await onDisk("SELECT minute FROM history ORDER BY minute");
  expect(new Set(before.map((sample) => Math.floor(sample.ts_ms / 60_000)))).toEqual(
    new Set(rows.map(({ minute }) => minute)),
  );
  expect(before[0]).toMatchObject({
    global_in_flight: 1,
    tenants: [{ tenant_id: "t1", name: "Acme", in_flight: 1, queued: 0 }],
  });

  await evictDurableObject(cell);
  expect(await cell.fairshareHistory(0)).toEqual(before);
  expect(await cell.fairshareHistory((before[0]?.ts_ms ?? 0) + 1)).toEqual(before.slice(1));
  const live = await cell.fairshareLive();
  expect(live.tenants.map(({ name, inFlight }) => [name, inFlight])).toEqual([["Acme", 0]]);
  expect(live).toMatchObject({ inFlight: 0, queued: 0 });

  const next = await isolate.begin();
  const after = await cell.fairshareHistory(0);
  expect({ kept: after.slice(0, before.length), count: after.length }).toEqual({
    kept: before,
    count: before.length + 1,
  });
  await isolate.end(next);
});
