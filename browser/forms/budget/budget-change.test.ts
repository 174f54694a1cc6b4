/** What a changed budget means is said before it is saved. */
import { expect, it } from "vitest";
import { budgetChangeSentences } from "./budget-change.ts";

const before = { budget_tokens: 1000, budget_cost_usd: null, budget_period: "monthly", budget_started_at: null };
const used = { used_tokens: 600, reserved_tokens: 100, used_cost_usd: 1.5, reserved_cost_usd: 0 };
const said = (change: object, known: typeof used | null = used) =>
  budgetChangeSentences(before, { ...before, ...change }, known).join(" ");

it("says nothing about what is unchanged", () => {
  expect(said({})).toBe("");
});

it("says what would be left, and what would be refused", () => {
  expect(said({ budget_tokens: 2000 })).toContain("1,300 tokens would remain");
  expect(said({ budget_tokens: 700 })).toContain("New requests are refused");
  expect(said({ budget_tokens: 0 })).toContain("A limit of 0 tokens refuses every new request");
  expect(said({ budget_cost_usd: 1 })).toContain("$1.50 is already used or reserved");
  expect(said({ budget_tokens: null })).toContain("no request is refused");
});

it("says when past use stops counting", () => {
  expect(said({ budget_period: "lifetime" })).toContain("start of the new period");
  const term = { ...before, budget_period: "term", budget_started_at: "2026-11-01T00:00:00.000Z" };
  const later = { ...term, budget_started_at: "2026-11-02T00:00:00.000Z" };
  expect(budgetChangeSentences(term, later, used).join(" ")).toContain("The budget resets");
});

it("claims nothing about unknown use or a text that is no number", () => {
  expect(said({ budget_tokens: 2000 }, null)).toBe("");
  expect(said({ budget_tokens: "many" })).toBe("");
});
