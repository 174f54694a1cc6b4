/** Rows that were given up are counted by a Ledger (docs/rules/settlement-and-rows.md#custody). */
import fc from "fast-check";
import { expect, it } from "vitest";
import { LostRows } from "./lost-rows.ts";

/** A Ledger that answers when the test says so, or never. */
function withLedger() {
  const told: { readonly rows: number; readonly answer: PromiseWithResolvers<void> }[] = [];
  const kept: Promise<unknown>[] = [];
  const world = { nowMs: 0, told, kept };
  const lost = new LostRows({
    ledger: () => ({
      lost: async (rows) => {
        const answer = Promise.withResolvers<void>();
        told.push({ rows, answer });
        await answer.promise;
      },
    }),
    clock: () => world.nowMs,
    keepAlive: (work) => void kept.push(work),
  });
  const add = (rows: number): void => {
    for (let row = 0; row < rows; row += 1) lost.add();
  };
  /** The Ledger answers the nth call; resolves when the isolate has seen it. */
  const answer = async (nth: number, error?: Error): Promise<void> => {
    if (error === undefined) told[nth]?.answer.resolve();
    else told[nth]?.answer.reject(error);
    await kept[nth];
  };
  return { world, lost, add, answer, rowsTold: () => told.map(({ rows }) => rows) };
}

it("stay counted until the Ledger answers, and are reported by one call at a time", async () => {
  const { world, lost, add, answer, rowsTold } = withLedger();
  lost.tell();
  add(2);
  lost.tell();
  add(3);
  lost.tell();
  expect({ rowsTold: rowsTold(), keptCount: world.kept.length }).toEqual({ rowsTold: [2], keptCount: 1 });
  await answer(0, new Error("ledger"));
  lost.tell();
  expect(rowsTold()).toEqual([2, 5]);
  add(1);
  await answer(1);
  lost.tell();
  await answer(2);
  lost.tell();
  expect(rowsTold()).toEqual([2, 5, 1]);
});

it("are reported again when their reporter is cut off; its late answer clears nothing", async () => {
  const { world, lost, add, answer, rowsTold } = withLedger();
  add(2);
  lost.tell();
  world.nowMs = 59_999;
  lost.tell();
  expect(rowsTold()).toEqual([2]);
  world.nowMs = 60_000;
  lost.tell();
  await answer(0);
  add(1);
  lost.tell();
  expect(rowsTold()).toEqual([2, 2]);
  await answer(1);
  lost.tell();
  expect(rowsTold()).toEqual([2, 2, 1]);
});

it("are reported again in time after the clock was set back", () => {
  const { world, lost, add, rowsTold } = withLedger();
  world.nowMs = 10_000_000;
  add(1);
  lost.tell();
  world.nowMs = 0;
  lost.tell();
  expect(rowsTold()).toEqual([1, 1]);
});

it("are counted once each if every call is answered, and never less whatever is lost", async () => {
  const step = fc.oneof(
    fc.record({ add: fc.integer({ min: 1, max: 3 }) }),
    fc.record({ passMs: fc.integer({ min: 0, max: 70_000 }) }),
    // The Ledger's reaction to the latest call, and whether the isolate learns of it.
    fc.record({ counts: fc.boolean(), answers: fc.boolean() }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const { world, lost, add, answer, rowsTold } = withLedger();
      const seen = new Set<number>();
      const cutOff = new Set<number>();
      let given = 0;
      let counted = 0;
      const decide = async (counts: boolean, answers: boolean): Promise<void> => {
        lost.tell();
        const nth = world.told.length - 1;
        if (nth < 0 || seen.has(nth)) return;
        seen.add(nth);
        if (counts) counted += rowsTold()[nth] ?? 0;
        if (answers) await answer(nth, counts ? undefined : new Error("ledger"));
        else cutOff.add(nth);
      };
      for (const next of steps) {
        if ("add" in next) {
          given += next.add;
          add(next.add);
        } else if ("passMs" in next) world.nowMs += next.passMs;
        else await decide(next.counts, next.answers);
      }
      world.nowMs += 60_000;
      await decide(true, true);
      await decide(true, true);
      if (cutOff.size === 0) expect(counted).toBe(given);
      else expect(counted).toBeGreaterThanOrEqual(given);
    }),
  );
});
