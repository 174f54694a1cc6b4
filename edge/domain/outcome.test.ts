import fc from "fast-check";
import { expect, it } from "vitest";
import { MAX_COST_USD } from "../../shared/cost.ts";
import { isAmount, nanoUsdOf } from "./budget/amounts.ts";
import { bill, totalTokens } from "./outcome.ts";

it("what is billed is amounts that budgets count, whatever an upstream reports and models cost", () => {
  const price = fc.oneof(
    fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(0, 5e-324, 1e308),
  );
  const reported = fc.option(fc.maxSafeNat());
  const stated = fc.oneof(fc.maxSafeNat(), fc.constant(1e308));
  fc.assert(
    fc.property(price, price, reported, reported, stated, (input, output, inputTokens, outputTokens, statedTokens) => {
      const model = { prices: { input, output, image: 0, character: 0, audio_second: 0 } };
      const estimate = {
        inputTokens: 7,
        outputTokens: statedTokens,
        totalTokens: 15,
        statedOutputTokens: statedTokens,
      };
      for (const usage of [null, { inputTokens, outputTokens }]) {
        const billed = bill(model, estimate, { kind: "tokens" }, usage);
        expect(isAmount(totalTokens(billed))).toBe(true);
        expect(isAmount(nanoUsdOf(billed.costUsd))).toBe(true);
        expect(billed.costUsd).toBeLessThanOrEqual(MAX_COST_USD);
      }
    }),
  );
});
