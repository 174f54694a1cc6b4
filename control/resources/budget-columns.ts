/**
 * The budget columns of a tenant or key (docs/rules/tenants.md#budget-fields). A budget with a cap always has a start. A
 * budget without caps has none, so that a cap that is set later does not count from an old start.
 */
import type { TenantRow } from "../db/schema/tenancy.ts";

type Columns = Pick<TenantRow, "budget_tokens" | "budget_cost_usd" | "budget_period" | "budget_started_at">;

/** The new caps and period. An omitted start keeps the stored start; a null start begins now. */
interface Wanted {
  readonly budget_tokens?: number | null | undefined;
  readonly budget_cost_usd?: number | null | undefined;
  readonly budget_period?: string | null | undefined;
  readonly budget_started_at?: string | null | undefined;
}

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
