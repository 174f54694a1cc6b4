/**
 * Replaces a tenant's budget (decisions §3.2).
 */
import { type Tenant, tenantBudgetSchema } from "../../../shared/schema/tenant.ts";
import type { VerbContext, Written } from "../../kernel/context.ts";
import { parse, parseId } from "../../kernel/parse.ts";
import { budgetColumns } from "../../resources/budget-columns.ts";
import { changeTenant } from "../../resources/change-tenant.ts";

/** The tenant. Throws 400, 404. */
export async function setTenantBudget(ctx: VerbContext, id: string, input: unknown): Promise<Written<Tenant>> {
  const tenantId = parseId(id);
  const body = parse(tenantBudgetSchema, input);
  return await changeTenant(ctx, tenantId, "set_tenant_budget", (before, now) =>
    budgetColumns(body, before.budget_started_at, now),
  );
}
