/** The period tags of a request under its limits (decisions §19.2). */
import type { Tags } from "./api.ts";
import type { BudgetLimits } from "./limits.ts";
import { type MonthOf, periodTag } from "./term-budget.ts";

/** The tags of a request that starts at `nowMs`. */
export function tagsOf({ tenant, key }: BudgetLimits, nowMs: number, monthOf: MonthOf): Tags {
  return {
    tenant: periodTag(tenant.term, tenant.timezone, nowMs, monthOf),
    key: periodTag(key.term, tenant.timezone, nowMs, monthOf),
  };
}
