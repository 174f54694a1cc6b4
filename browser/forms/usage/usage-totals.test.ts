/** Sums of days are those of the reports. */
import { expect, it } from "vitest";
import { usageTotals } from "./usage-totals.ts";

const day = (cost_usd: number) => ({ requests: 2, error_requests: 1, total_tokens: 10, cache_hits: 0, cost_usd });

it("adds up money without noise", () => {
  expect(usageTotals([0.1, 0.2, 0.000000001].map(day))).toEqual({
    requests: 6,
    errors: 3,
    tokens: 30,
    cacheHits: 0,
    costUsd: 0.300000001,
  });
  expect(usageTotals([])).toEqual({ requests: 0, errors: 0, tokens: 0, cacheHits: 0, costUsd: 0 });
});
