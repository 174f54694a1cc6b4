/** What the portal says: whether applications can call, and what a model costs. */
import { describe, expect, it } from "vitest";
import { budgetLeft, budgetLeftText } from "../../explain/budget-left.ts";
import { canCall, keyCounts, modelCounts } from "./can-call.ts";
import { mainPriceUsd, priceText } from "./model-price.ts";

const NOW = Date.UTC(2026, 10, 23, 12);
const HOUR_MS = 3_600_000;
const at = (ms: number): string => new Date(NOW + ms).toISOString();
const KEY = { disabled: false, expires_at: null };
const MODEL = { enabled: true, health_status: "healthy" };
const OPEN = { isServed: true, sentence: "Access is open.", changeMs: null, change: null };
const FACTS = {
  access: OPEN,
  termEndMs: null,
  budget: { state: "ok", reset: "Resets soon." },
  keys: [KEY],
  models: [MODEL],
  load: { in_flight: 1, queued: 0, oldest_wait_ms: null, waits_for: null, batches_wait: false, slots_left: null },
} as const;

describe("whether applications can call", () => {
  it.each([
    ["yes", {}, "good", /^Yes: /, null],
    [
      "not when the tenant is closed",
      { access: { ...OPEN, isServed: false, sentence: "Closed." } },
      "bad",
      /Closed/,
      null,
    ],
    ["not when the budget is used up", { budget: { ...FACTS.budget, state: "exhausted" } }, "bad", /budget/, null],
    ["not without a key", { keys: [] }, "bad", /no key/, "/keys"],
    [
      "not with keys that are shut alone",
      {
        keys: [
          { ...KEY, disabled: true },
          { ...KEY, expires_at: at(0) },
        ],
      },
      "bad",
      /every key/,
      "/keys",
    ],
    ["not without a model", { models: [{ ...MODEL, enabled: false }] }, "bad", /any model/, null],
    [
      "not when no model answers",
      { models: [{ ...MODEL, health_status: "unhealthy" }] },
      "bad",
      /responds/,
      "/portal/models",
    ],
    [
      "for a while before a window closes",
      { access: { ...OPEN, changeMs: NOW + HOUR_MS / 2 } },
      "warn",
      /in 30 min/,
      null,
    ],
    [
      "as on every day, long before a window closes",
      { access: { ...OPEN, changeMs: NOW + HOUR_MS } },
      "good",
      /^Yes: /,
      null,
    ],
    [
      "slowly while requests wait",
      { load: { ...FACTS.load, queued: 3, oldest_wait_ms: 9000, waits_for: "shared_slots" } },
      "warn",
      /are waiting/,
      "/portal/limits",
    ],
    ["until the term ends", { termEndMs: NOW + 48 * HOUR_MS }, "warn", /permanently in 2 days/, null],
    ["with a budget that runs out", { budget: { ...FACTS.budget, state: "warned" } }, "warn", /almost/, null],
    ["with a key that ends", { keys: [KEY, { ...KEY, expires_at: at(2 * HOUR_MS) }] }, "warn", /in 2 hr/, "/keys"],
    [
      "with a model that fails",
      { models: [MODEL, { ...MODEL, health_status: "unhealthy" }] },
      "warn",
      /1 model does/,
      "/portal/models",
    ],
    ["whatever the health is called", { models: [{ ...MODEL, health_status: "__proto__" }] }, "good", /^Yes: /, null],
    ["without a cap", { budget: { ...FACTS.budget, state: "none" } }, "good", /^Yes: /, null],
  ] as const)("%s", (_, change, tone, sentence, to) => {
    const answer = canCall({ ...FACTS, ...change }, NOW);
    expect(answer).toMatchObject({ tone, sentence: expect.stringMatching(sentence) as string, to });
  });

  it.each([{ budget: null }, { keys: null }, { models: null }])("is not claimed while %j", (missing) => {
    expect(canCall({ ...FACTS, ...missing }, NOW).tone).toBe("neutral");
  });

  it("is refused for what is known, whatever is not", () => {
    expect(canCall({ ...FACTS, budget: null, models: null, keys: [] }, NOW).tone).toBe("bad");
  });
});

it("counts keys and models that work", () => {
  const keys = [KEY, { ...KEY, expires_at: at(5) }, { ...KEY, expires_at: at(3) }, { ...KEY, expires_at: at(-1) }];
  expect(keyCounts([...keys, { disabled: true, expires_at: at(1) }], NOW)).toEqual({ admitted: 3, endsMs: NOW + 3 });
  expect(keyCounts([{ ...KEY, expires_at: "never" }], NOW)).toEqual({ admitted: 1, endsMs: null });
  const off = { enabled: false, health_status: "unhealthy" };
  const inStates = ["unhealthy", "degraded", "unknown", "disabled"].map((health_status) => ({
    ...MODEL,
    health_status,
  }));
  expect(modelCounts([MODEL, off, ...inStates])).toEqual({ enabled: 5, responding: 2, failing: 1, unknown: 2 });
});

it("says what is left by the cap that is nearer", () => {
  const left = (tokens: readonly (number | null)[], usd: readonly (number | null)[]): number | null =>
    budgetLeft({
      remaining_tokens: tokens[0] ?? null,
      budget_tokens: tokens[1] ?? null,
      remaining_cost_usd: usd[0] ?? null,
      reserved_tokens: 10,
      reserved_cost_usd: 0,
      budget_cost_usd: usd[1] ?? null,
    });
  expect({
    tokensNearer: left([50, 100], [3, 4]),
    costOnly: left([], [3, 4]),
    tokensUsedUp: left([0, 0], [3, 4]),
    uncapped: left([], []),
  }).toEqual({ tokensNearer: 0.5, costOnly: 0.75, tokensUsedUp: 0, uncapped: null });
  const tokens = { budget_tokens: 100, remaining_tokens: 80, reserved_tokens: 10 };
  const uncapped = { budget_cost_usd: null, remaining_cost_usd: null, reserved_cost_usd: 0 };
  expect(budgetLeftText({ ...tokens, ...uncapped })).toBe("80% (10% held)");
  expect({ overspent: left([-5, 10], []), aboveBudget: left([20, 10], []) }).toEqual({ overspent: 0, aboveBudget: 1 });
});

describe("the price of a model", () => {
  const free = {
    model_type: "chat",
    input_cost_per_token: 0,
    output_cost_per_token: 0,
    cached_input_cost_per_token: null,
    reasoning_output_cost_per_token: null,
    cache_write_cost_per_token: null,
    audio_input_cost_per_token: null,
    audio_output_cost_per_token: null,
    image_input_cost_per_token: null,
    image_output_cost_per_token: null,
    input_cost_per_second: 0,
    cost_per_image: 0,
    cost_per_character: 0,
  } as const;

  it("has its unit", () => {
    expect(priceText({ ...free, input_cost_per_token: 6e-7, output_cost_per_token: 2.4e-6 })).toBe(
      "$0.60 / $2.40 per million tokens",
    );
    expect(priceText({ ...free, input_cost_per_second: 0.0001, cost_per_image: 0.04 })).toBe(
      "$0.006 per minute, $0.04 per image",
    );
    expect(priceText({ ...free, model_type: "embedding", input_cost_per_token: 1e-7 })).toBe(
      "$0.10 per million input tokens",
    );
    expect(priceText({ ...free, cost_per_character: 1.5e-5 })).toBe("$15.00 per million characters");
  });

  it("names every part that has one, to the last decimal, and no part that has none", () => {
    const parts = {
      output_cost_per_token: 1.075e-6,
      cached_input_cost_per_token: 0,
      reasoning_output_cost_per_token: 4e-6,
      image_output_cost_per_token: 3e-5,
    };
    expect(priceText({ ...free, ...parts })).toBe(
      "input: no price, $1.075 per million output tokens, $0.00 per million cached input tokens, $4.00 per million reasoning output tokens, $30.00 per million image output tokens",
    );
  });

  it("is not known when none is set, or it is no price", () => {
    for (const input_cost_per_token of [0, Number.NaN, -1])
      expect({
        priceText: priceText({ ...free, input_cost_per_token }),
        mainPriceUsd: mainPriceUsd({ ...free, input_cost_per_token }),
      }).toEqual({ priceText: null, mainPriceUsd: null });
  });

  it("orders models by what is dear", () => {
    expect(mainPriceUsd({ ...free, output_cost_per_token: 1e-6 })).toBeCloseTo(1);
  });
});
