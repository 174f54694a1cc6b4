import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { apportion } from "./apportion.ts";
import { apportionByClass } from "./apportion-by-class.ts";

describe("shares of classes", () => {
  it("equal those of their members", () => {
    const classOf = fc.record({
      weight: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.constantFrom(1, 50, 100, 300, 1000, 1_000_000)),
      members: fc.integer({ min: 1, max: 12 }),
    });
    fc.assert(
      fc.property(
        fc.uniqueArray(classOf, { minLength: 1, maxLength: 6, size: "max", selector: (one) => one.weight }),
        fc.integer({ min: 1, max: 60 }),
        (given, slots) => {
          const classes = given.toSorted((a, b) => b.weight - a.weight);
          const weights = classes.flatMap(({ weight, members }) => Array<number>(members).fill(weight));
          const total = weights.reduce((sum, weight) => sum + weight, 0);
          const single = apportion(slots, weights, total).map((share) => Math.max(1, share));
          const expected = classes.map(({ weight }) => {
            const own = single.filter((_, at) => weights[at] === weight);
            const floor = Math.min(...own);
            return { floor, turns: own.reduce((sum, share) => sum + share - floor, 0) };
          });
          expect(apportionByClass(slots, classes, total)).toEqual(expected);
        },
      ),
      { numRuns: 2000 },
    );
  });
});
