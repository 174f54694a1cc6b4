/** Taking a change of a budget back brings its begin back too. */
import { expect, it } from "vitest";
import { undoBudget } from "./undo-budget.ts";

const STARTED = "2026-01-01T00:00:00.000Z";
const CAPPED = {
  name: "t",
  budget_tokens: 1_000_000,
  budget_cost_usd: null,
  budget_period: null,
  budget_started_at: STARTED,
};
const OPEN = { ...CAPPED, budget_tokens: null, budget_started_at: null };

it("sets a cap that was taken away together with the begin from before", () => {
  expect(undoBudget({ budget_tokens: null }, CAPPED)).toEqual({
    budget_tokens: 1_000_000,
    budget_started_at: STARTED,
  });
  expect(undoBudget({ budget_cost_usd: 5, name: "u" }, CAPPED)).toEqual({
    budget_cost_usd: null,
    budget_started_at: STARTED,
    name: "t",
  });
});

it("takes a first cap away and names no begin, which would begin now beside another cap", () => {
  expect(undoBudget({ budget_tokens: 5 }, OPEN)).toEqual({ budget_tokens: null });
});

it("leaves the begin alone where no cap was changed", () => {
  expect(undoBudget({ name: "u", budget_period: "monthly" }, CAPPED)).toEqual({ name: "t", budget_period: null });
  expect(undoBudget({ budget_started_at: "2026-02-01T00:00:00.000Z" }, CAPPED)).toEqual({ budget_started_at: STARTED });
});
