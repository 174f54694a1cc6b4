/** A ladder is drawn whatever an upstream made of its steps. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { ladderOf } from "./ladder.ts";

const value = fc.option(fc.oneof(fc.double(), fc.constantFrom(0, 1e308, -5, Number.NaN, Infinity)));

it("draws every step within the plot, in order, the largest over all of it", () => {
  fc.assert(
    fc.property(fc.array(fc.record({ concurrency: fc.nat(), value })), value, (steps, limit) => {
      const { bars, limitAt } = ladderOf(steps, (step) => step.value, limit);
      expect(bars.map(({ concurrency }) => concurrency)).toEqual(steps.map(({ concurrency }) => concurrency));
      const lengths = [...bars.map(({ length }) => length), limitAt ?? 0];
      for (const length of lengths) expect(length >= 0 && length <= 1).toBe(true);
      expect([0, 1]).toContain(Math.max(0, ...lengths));
    }),
  );
});

it("has no bar where a step was not answered", () => {
  expect(
    ladderOf([{ concurrency: 1 }, { concurrency: 2 }], ({ concurrency }) => (concurrency === 1 ? null : 5), 10),
  ).toEqual({
    bars: [
      { concurrency: 1, value: null, length: 0 },
      { concurrency: 2, value: 5, length: 0.5 },
    ],
    limitAt: 1,
  });
});
