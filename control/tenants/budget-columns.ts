/**
 * The budget columns of a tenant or key (docs/rules/tenants.md#budget-fields). A budget with a cap always has a start. A
 * budget without caps has none, so that a cap that is set later does not count from an old start.
 */
import type { TenantRow } from "../db/schema/tenancy.ts";
import { dropUndefined } from "../kernel/parse.ts";

type Columns = Pick<TenantRow, "budget_tokens" | "budget_cost_usd" | "budget_period" | "budget_started_at">;

/** The new caps and period. An omitted start keeps the stored start; a null start begins now. */
interface Wanted {
  readonly budget_tokens?: number | null | undefined;
  readonly budget_cost_usd?: number | null | undefined;
  readonly budget_period?: string | null | undefined;
  readonly budget_started_at?: string | null | undefined;
}

/**
 * The columns after a change of some of the four fields: none if it names none of them. An omitted field keeps its value;
 * without a row before, it is null.
 */
export function changedBudget(given: Wanted, before: Columns | null, now: Date): Partial<Columns> {
  if (before !== null && Object.values(budgetIn(given)).every((value) => value === undefined)) return {};
  const merged = { ...before, ...dropUndefined(budgetIn(given)), budget_started_at: given.budget_started_at };
  return budgetColumns(merged, before?.budget_started_at ?? null, now);
}

const budgetIn = ({ budget_tokens, budget_cost_usd, budget_period, budget_started_at }: Wanted) => ({
  budget_tokens,
  budget_cost_usd,
  budget_period,
  budget_started_at,
});

/** Columns that replace the budget; omitted caps and an omitted period become null. */
export function budgetColumns(wanted: Wanted, startedBefore: Date | null, now: Date): Columns {
  const columns = {
    budget_tokens: wanted.budget_tokens ?? null,
    budget_cost_usd: wanted.budget_cost_usd ?? null,
    budget_period: wanted.budget_period ?? null,
  };
  const given = wanted.budget_started_at;
  const start = given === undefined ? (startedBefore ?? now) : given === null ? now : new Date(given);
  const capped = columns.budget_tokens !== null || columns.budget_cost_usd !== null;
  return { ...columns, budget_started_at: capped ? start : null };
}
