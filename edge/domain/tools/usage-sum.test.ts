/** The usage of several turns for a client (docs/rules/tool-loop.md#usage). */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { believedReport, sumUsage } from "./usage-sum.ts";

describe("the sum of usage", () => {
  it("adds every count", () => {
    const first = {
      prompt_tokens: 5,
      completion_tokens: 2,
      total_tokens: 7,
      prompt_tokens_details: { cached_tokens: 1 },
    };
    const second = {
      prompt_tokens: 9,
      completion_tokens: 3,
      total_tokens: 12,
      completion_tokens_details: { reasoning_tokens: 2 },
    };
    expect(sumUsage(first, second)).toEqual({
      prompt_tokens: 14,
      completion_tokens: 5,
      total_tokens: 19,
      prompt_tokens_details: { cached_tokens: 1 },
      completion_tokens_details: { reasoning_tokens: 2 },
    });
  });

  it("is the only one that was reported, or none", () => {
    expect(sumUsage(null, { prompt_tokens: 1 })).toEqual({ prompt_tokens: 1 });
    expect(sumUsage({ prompt_tokens: 1 }, [])).toEqual({ prompt_tokens: 1 });
    expect(sumUsage("x", 7)).toBeNull();
  });

  it.each([
    [{ a: 1e308 }, { a: 1e308 }, { a: Number.MAX_SAFE_INTEGER }],
    [{ a: -5 }, { a: 3 }, { a: 3 }],
    [{ a: 0.25 }, { a: 0.5 }, { a: 0.75 }],
    [{ a: 1 }, { a: null }, { a: 1 }],
    [{ a: 1 }, { a: "x" }, { a: "x" }],
    [{ a: { b: { c: { d: 1 } } } }, { a: { b: { c: { d: 2 } } } }, { a: { b: { c: { d: 2 } } } }],
  ])("of %j and %j is %j", (first, second, expected) => {
    expect(sumUsage(first, second)).toEqual(expected);
  });

  it("never fails, and is JSON", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (first, second) => {
        const sum = sumUsage(first, second);
        expect(sum === null || typeof sum === "object").toBe(true);
        expect(() => JSON.stringify(sum)).not.toThrow();
      }),
    );
    const hostile = JSON.parse('{"__proto__":{"polluted":1},"prompt_tokens":1}') as unknown;
    expect(Object.getPrototypeOf(sumUsage(hostile, hostile))).toBe(Object.prototype);
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });
});

describe("the report of a turn", () => {
  const estimate = { totalTokens: 20 };

  it.each([
    ["of what was used", { prompt_tokens: 5, completion_tokens: 3 }, true],
    ["of as much as its answer may have taken", { prompt_tokens: 5, completion_tokens: 90_000 }, true],
    ["of more than that", { prompt_tokens: 5, completion_tokens: 110_000 }, false],
    ["of a part of more than that", { prompt_tokens: 5, prompt_tokens_details: { cached_tokens: 9e15 } }, false],
    ["that is not an object", "many", false],
  ])("counts only if it can be true: %s", (_, report, counts) => {
    expect(believedReport(report, estimate, 100)).toBe(counts ? report : null);
  });
});
