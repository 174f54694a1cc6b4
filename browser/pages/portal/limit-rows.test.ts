/** The limits of a tenant in words: what is used of each, what running requests hold, and where requests wait. */
import { expect, it } from "vitest";
import { limitRows } from "./limit-rows.ts";

const NOW = Date.UTC(2026, 10, 30, 15);
const TENANT = {
  tokens_per_minute: 0,
  requests_per_minute: 60,
  max_in_flight: null,
  end_user_budget_tokens: null,
  end_user_budget_cost_usd: null,
  end_user_budget_period: null,
};
const USAGE = {
  budget_period: "monthly",
  period_start: "2026-11-01T00:00:00.000Z",
  period_end: "2026-12-01T00:00:00.000Z",
  budget_tokens: 12_000,
  budget_cost_usd: null,
  used_tokens: 891,
  used_cost_usd: 0,
  reserved_tokens: 1040,
  reserved_cost_usd: 0,
  remaining_tokens: 10_069,
  remaining_cost_usd: null,
  ratio: 0.07,
  state: "ok",
  tokens_per_day: null,
  cost_usd_per_day: null,
  runs_out_at: null,
  runs_out_by: null,
  limit_to_last: null,
  per_day_to_last: null,
} as const;
const LOAD = {
  in_flight: 2,
  queued: 3,
  oldest_wait_ms: 189_000,
  waits_for: "shared_slots",
  batches_wait: false,
  slots_left: null,
} as const;

it("says what is used and held of a limit, and names limits that are not set", () => {
  const { rows, unset } = limitRows(TENANT, USAGE, LOAD, "UTC", NOW);
  expect(rows.map(({ name, allowed, used, left }) => [name, allowed, used, left])).toEqual([
    ["Budget in tokens", "12,000", "891 + 1,040 held for running requests", "10,069"],
    ["Requests per minute", "60", "–", "See x-ratelimit-remaining"],
    ["Concurrent requests", "Slots shared with other tenants", "2", "–"],
  ]);
  expect(rows.map(({ share }) => share)).toEqual([(891 + 1_040) / 12_000, null, null]);
  expect(unset).toEqual(["Budget in USD", "Tokens per minute"]);
});

it("names the tenant's own slots where it has some, and is unknown until it is loaded", () => {
  const { rows } = limitRows({ ...TENANT, max_in_flight: 7 }, null, { ...LOAD, slots_left: 5 }, "UTC", NOW);
  expect(rows.map(({ id, allowed, used, left }) => [id, allowed, used, left])).toEqual([
    ["tokens", "–", "–", "–"],
    ["usd", "–", "–", "–"],
    ["requests_per_minute", "60", "–", "See x-ratelimit-remaining"],
    ["concurrency", "7 per region", "2", "5"],
  ]);
});
