/** What one request has cost (docs/rules/console-figures.md#requests). */
import { expect, it } from "vitest";
import { rowCostUsd, sumCostUsd } from "./row-cost.ts";

const ROW = { cost_usd: 0, total_tokens: 33, status_code: 200, cache_status: "off" } as const;

it.each([
  ["is what the row says, to its last digit", { cost_usd: 0.000000001 }, 0.000000001],
  ["is not known where nobody has set a price", {}, null],
  ["is not known of pictures without a price, which have no tokens", { total_tokens: 0 }, null],
  ["is not known of what a client left before its end", { status_code: 499 }, null],
  ["is nothing for an answer from the cache", { cache_status: "hit" }, 0],
  ["is nothing for a refusal", { status_code: 429, total_tokens: 0 }, 0],
  ["is not known of a row that lacks it", { cost_usd: undefined }, undefined],
] as const)("%s", (_, change, expected) => {
  expect(rowCostUsd({ ...ROW, ...change } as Parameters<typeof rowCostUsd>[0])).toBe(expected);
});

it("of a sum is not known where it is 0 beside tokens: $0.00 would say that these were free", () => {
  const cost = (cost_usd: number, total_tokens: number) => sumCostUsd({ cost_usd, total_tokens });
  expect({
    zeroWithTokens: cost(0, 3),
    zeroWithoutTokens: cost(0, 0),
    positive: cost(1e-9, 3),
    missing: sumCostUsd(undefined),
  }).toEqual({ zeroWithTokens: null, zeroWithoutTokens: 0, positive: 1e-9, missing: undefined });
});
