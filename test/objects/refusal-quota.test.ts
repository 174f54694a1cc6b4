/**
 * The part of a Ledger's storage that rows of refusals may take while the analytics store is away
 * (docs/rules/settlement-and-rows.md#spill-bounds).
 *
 * @module-tag check
 */
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { limitsPerShard, REFUSALS_MAX_PART, SEGMENT_MAX_BYTES } from "../../edge/domain/ledger/ledger-log.ts";
import type { UsageRow } from "../../shared/usage/usage-row.ts";
import { batchOf, drain, freshLedger, ids, order, stored } from "./ledger-world.ts";

/** The content of a row that is nearly as large as a segment. */
const LARGE = "x".repeat(SEGMENT_MAX_BYTES - 2048);
const QUOTA_BYTES = limitsPerShard(1).maxBytes * REFUSALS_MAX_PART;

describe("rows of refusals", () => {
  it("fill a quarter of the storage, even over restarts; further ones are dropped and counted", async () => {
    const { name, stub } = freshLedger("refusals");
    await order({ ledger: name, fault: "refuse", times: Number.MAX_SAFE_INTEGER });
    let sequence = 0;
    const append = async (...rows: readonly Partial<UsageRow>[]): Promise<void> => {
      sequence += 1;
      const requests = ids(rows.length);
      const over = (id: string) => ({ session_id: LARGE, ...rows[requests.indexOf(id)] });
      await stub.append(batchOf(requests, sequence, { over }));
    };
    const [refused, used] = [{ admission: "rejected" }, { admission: "fast" }] as const;
    for (let bytes = 0; bytes < QUOTA_BYTES; bytes += 8 * SEGMENT_MAX_BYTES)
      await append(...Array.from({ length: 8 }, () => refused));
    await evictDurableObject(stub);
    await append(refused, refused, refused);
    const full = await stub.status();
    expect(full.bytes).toBeLessThanOrEqual(QUOTA_BYTES);
    expect(full.bytes).toBeGreaterThan(QUOTA_BYTES - SEGMENT_MAX_BYTES);
    expect(full.dropped).toBeGreaterThan(0);
    await append(used, refused, used, refused, used);
    expect(await stub.status()).toMatchObject({ segments: full.segments + 3, dropped: full.dropped + 2 });
    expect((await stub.alerts(null)).alerts).toMatchObject([{ issueKey: "usage_spill_refused" }]);
    // Deletes the test's disk.
    await runInDurableObject(stub, async (_ledger, state) => await state.storage.deleteAll());
  });

  it("are shipped like all others, which frees storage for new ones", async () => {
    const { name, stub } = freshLedger("refusals");
    // Nothing is shipped before the quota is full.
    await order({ ledger: name, fault: "refuse", times: 8 });
    const refusals = (requests: readonly string[], sequence: number) =>
      batchOf(requests, sequence, { over: () => ({ admission: "rejected" }) });
    const requests = ids(4);
    await stub.append(refusals(requests, 1));
    // Lets these rows fill the quota.
    await runInDurableObject(stub, (_ledger, state) => {
      state.storage.sql.exec("UPDATE commits SET refusal_bytes = ?", QUOTA_BYTES);
    });
    await evictDurableObject(stub);
    await stub.append(refusals(ids(1), 2));
    expect((await stub.status()).dropped).toBe(1);
    await drain(stub);
    expect(await stored(requests)).toEqual(requests);
    const later = ids(1);
    await stub.append(refusals(later, 3));
    await drain(stub);
    expect({ stored: await stored(later), dropped: (await stub.status()).dropped }).toEqual({
      stored: later,
      dropped: 1,
    });
  });

  it("are counted, on a disk of the second layout, from the first new row on", async () => {
    const { stub } = freshLedger("refusals");
    await stub.append(batchOf(ids(1), 1));
    await runInDurableObject(stub, (_ledger, state) => {
      state.storage.sql.exec("ALTER TABLE commits DROP COLUMN refusal_bytes");
      state.storage.sql.exec("UPDATE meta SET value = '2' WHERE name = 'schema'");
    });
    await evictDurableObject(stub);
    await stub.append(batchOf(ids(1), 2, { over: () => ({ admission: "rejected" }) }));
    const counted = await runInDurableObject(stub, (_ledger, state) =>
      state.storage.sql.exec("SELECT refusal_bytes > 0 AS counted FROM commits ORDER BY id").toArray(),
    );
    expect(counted).toEqual([{ counted: 0 }, { counted: 1 }]);
  });
});
