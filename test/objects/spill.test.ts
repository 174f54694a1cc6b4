/**
 * The limits of what a Ledger keeps while the analytics store is away, filled to the last byte
 * (docs/rules/settlement-and-rows.md#spill-bounds).
 *
 * @module-tag check
 */
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { limitsPerShard, SEGMENT_MAX_BYTES } from "../../edge/domain/ledger/ledger-log.ts";
import type { UsageRow } from "../../shared/usage/usage-row.ts";
import { waitFor } from "../harness/wait-for.ts";
import { rowFor } from "./admission-messages.ts";
import { batchOf, freshLedger, ids, order } from "./ledger-world.ts";
import { MEMORY } from "./store-sink.ts";

/** The content of a row that is nearly as large as a segment. */
const LARGE = "x".repeat(SEGMENT_MAX_BYTES - 2048);

const residentBytes = async (): Promise<number> => (await fetch(MEMORY)).json();

it("an outage fills segments to 256 MiB; later rows are refused, counted once and reported", async () => {
  const { name, stub } = freshLedger("spilling");
  await order({ ledger: name, fault: "refuse", times: Number.MAX_SAFE_INTEGER });
  const { maxSegments, maxBytes } = limitsPerShard(1);
  const before = await residentBytes();
  let sequence = 0;
  const over = (): Partial<UsageRow> => ({ session_id: LARGE, admission: "fast" });
  const append = async (requests: readonly string[], orphan = false): Promise<void> => {
    sequence += 1;
    await stub.append(batchOf(requests, sequence, { orphan, over }));
  };
  while (sequence * 8 < maxSegments) {
    await append(ids(8));
    if (sequence === 1) await runDurableObjectAlarm(stub);
  }
  const full = await stub.status();
  // The rows are on disk, not in memory. The remaining bytes are those of the runtime itself and of this test, and what it has
  // not collected yet.
  await waitFor(residentBytes, (bytes) => bytes - before < 0.75 * maxBytes);
  expect(full).toMatchObject({ segments: maxSegments, dropped: 0 });
  expect(full.bytes).toBeLessThanOrEqual(maxBytes);
  expect(full.bytes).toBeGreaterThan(maxBytes - maxSegments * 4096);
  await append(ids(3));
  const late = ids(2);
  await append(late);
  // A row comes again when the answer of its Cell is lost.
  await append(late, true);
  for (const requestId of late) await stub.appendOrphan(rowFor(requestId, over()));
  expect(await stub.status()).toMatchObject({ ...full, dropped: 5 });
  expect((await stub.alerts(null)).alerts).toMatchObject([
    { issueKey: "usage_spill_refused", detail: "spill log full; 3 records dropped" },
  ]);
  // Deletes the test's disk.
  await runInDurableObject(stub, async (_ledger, state) => await state.storage.deleteAll());
});
