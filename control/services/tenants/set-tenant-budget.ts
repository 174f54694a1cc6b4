/**
 * Replaces a tenant's budget (decisions §3.2).
 */
import { type Tenant, tenantBudgetSchema } from "../../../shared/schema/tenant.ts";
import { budgetColumns } from "../budget-columns.ts";
import type { VerbContext, Written } from "../context.ts";
import { parse, parseId } from "../parse.ts";
import { changeTenant } from "./change-tenant.ts";

/** The tenant. Throws 400, 404. */
export async function setTenantBudget(ctx: VerbContext, id: string, input: unknown): Promise<Written<Tenant>> {
  const tenantId = parseId(id);
  const body = parse(tenantBudgetSchema, input);
  return await changeTenant(ctx, tenantId, "set_tenant_budget", (before, now) =>
    budgetColumns(body, before.budget_started_at, now),
  );
}
