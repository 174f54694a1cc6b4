import fc from "fast-check";
import { expect, it } from "vitest";
import { Epochs } from "./epochs.ts";

it("numbers grow for each tenant, and run ahead of the clock by no more than its own wallets of one moment", () => {
  const step = fc.record({ tenant: fc.nat(30), laterMs: fc.constantFrom(0, 0, 0, 1, 5) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const epochs = new Epochs();
      const last = new Map<number, number>();
      let nowMs = 1_000;
      for (const { tenant, laterMs } of steps) {
        nowMs += laterMs;
        const before = last.get(tenant) ?? 0;
        const epoch = epochs.next(String(tenant), nowMs);
        expect(epoch).toBe(Math.max(nowMs, before + 1));
        last.set(tenant, epoch);
        expect(epochs.size).toBe([...last.values()].filter((kept) => kept >= nowMs).length);
      }
    }),
  );
});
