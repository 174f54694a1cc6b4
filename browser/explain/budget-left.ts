import type { Records } from "../data/api.ts";

type Budget = Pick<
  Records["BudgetUsage"],
  "budget_tokens" | "budget_cost_usd" | "remaining_tokens" | "remaining_cost_usd"
>;

/** The part of the budget that is neither used nor reserved, 0 to 1, by the cap that is nearer; null: it has no cap. */
export function budgetLeft(usage: Budget): number | null {
  const parts = [
    [usage.remaining_tokens, usage.budget_tokens],
    [usage.remaining_cost_usd, usage.budget_cost_usd],
  ].flatMap(([left, cap]) => (left == null || cap == null ? [] : [cap > 0 ? left / cap : 0]));
  return parts.length === 0 ? null : Math.min(1, Math.max(0, Math.min(...parts)));
}
