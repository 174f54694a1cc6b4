import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { WaitingQueue } from "../schema/load.ts";
import { mergedWaiting } from "./merged-waiting.ts";

const queueOf = (over: Partial<WaitingQueue>): WaitingQueue => ({
  tenant_id: "t",
  tenant: "Acme",
  group: "default",
  model: "m",
  queued: 1,
  oldest_wait_ms: 10,
  reason: "cell_full",
  ...over,
});

describe("the queues of several cells", () => {
  it("are one list: the same queue once, another reason apart, the longest wait first", () => {
    const one = [queueOf({ queued: 2, oldest_wait_ms: 30 }), queueOf({ tenant_id: "u", tenant: "Umbra", queued: 4 })];
    const two = [queueOf({ queued: 3, oldest_wait_ms: 20 }), queueOf({ reason: "model_cap", oldest_wait_ms: 50 })];
    expect(mergedWaiting([one, two])).toEqual([
      queueOf({ reason: "model_cap", oldest_wait_ms: 50 }),
      queueOf({ queued: 5, oldest_wait_ms: 30 }),
      queueOf({ tenant_id: "u", tenant: "Umbra", queued: 4 }),
    ]);
    expect(one[0]?.queued).toBe(2);
  });

  it("keep every request while there are at most 1000 queues, whatever the names", () => {
    const name = fc.constantFrom("a", "b", "__proto__", '","', "");
    const queue = fc.record({
      tenant_id: name,
      tenant: fc.constant("Acme"),
      group: name,
      model: name,
      queued: fc.nat(20),
      oldest_wait_ms: fc.nat(1000),
      reason: fc.constantFrom("cell_full" as const, "budget" as const),
    });
    fc.assert(
      fc.property(fc.array(fc.array(queue)), (cells) => {
        const merged = mergedWaiting(cells);
        const total = (queues: readonly WaitingQueue[]): number => queues.reduce((sum, { queued }) => sum + queued, 0);
        expect(total(merged)).toBe(total(cells.flat()));
        const waits = merged.map(({ oldest_wait_ms }) => oldest_wait_ms);
        expect(waits).toEqual(waits.toSorted((a, b) => b - a));
      }),
    );
  });

  it("are cut to the 1000 that have waited longest", () => {
    const many = Array.from({ length: 1200 }, (_, at) => queueOf({ tenant_id: `t${at}`, oldest_wait_ms: at }));
    const merged = mergedWaiting([many]);
    expect({ mergedCount: merged.length, oldest_wait_ms: merged.at(-1)?.oldest_wait_ms }).toEqual({
      mergedCount: 1000,
      oldest_wait_ms: 200,
    });
  });
});
