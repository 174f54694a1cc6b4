/** The bounds of what a Ledger keeps while the analytics store is away, driven to the last byte (decisions §23.5). */
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { limitsPerShard, SEGMENT_MAX_BYTES } from "../../edge/domain/ledger/ledger-log.ts";
import { batchOf, freshLedger, ids, order } from "./ledger-world.ts";
import { MEMORY } from "./store-sink.ts";

/** A row nearly as large as a segment. */
const LARGE = "x".repeat(SEGMENT_MAX_BYTES - 2048);

const residentBytes = async (): Promise<number> => (await fetch(MEMORY)).json();

it("an outage fills segments up to 256 MiB; what comes then is refused, counted for good and told", async () => {
  const { name, stub } = freshLedger("spilling");
  await order({ ledger: name, fault: "refuse", times: Number.MAX_SAFE_INTEGER });
  const { maxSegments, maxBytes } = limitsPerShard(1);
  const before = await residentBytes();
  let sequence = 0;
  const append = async (count: number): Promise<void> => {
    sequence += 1;
    await stub.append(batchOf(ids(count), sequence, { over: () => ({ session_id: LARGE, admission: "fast" }) }));
  };
  while (sequence * 8 < maxSegments) {
    await append(8);
    if (sequence === 1) await runDurableObjectAlarm(stub);
  }
  const full = await stub.status();
  // on disk, not in memory: the runtime itself and this test's own garbage are within the rest
  expect((await residentBytes()) - before).toBeLessThan(0.75 * maxBytes);
  expect(full).toMatchObject({ segments: maxSegments, dropped: 0 });
  expect(full.bytes).toBeLessThanOrEqual(maxBytes);
  expect(full.bytes).toBeGreaterThan(maxBytes - maxSegments * 4096);
  await append(3);
  await append(2);
  expect(await stub.status()).toEqual({ ...full, dropped: 5 });
  expect((await stub.alerts(null)).alerts).toMatchObject([
    { issueKey: "usage_spill_refused", detail: "spill log full; 3 records dropped" },
  ]);
  // its disk goes with the test
  await runInDurableObject(stub, async (_ledger, state) => await state.storage.deleteAll());
});
