/** Budget routes: how much of a budget is used. */
import { z } from "zod";
import { budgetUsageSchema, tenantBudgetUsageSchema } from "../../shared/schema/budget.ts";
import { endpoint } from "../api/endpoint.ts";
import type { Api, ApiDeps } from "../api/types.ts";
import { getKeyBudgetUsage, getTenantBudgetUsage, listBudgets } from "./get-budget-usage.ts";

const tag = "Budgets";

export function budgetRoutes(app: Api, deps: ApiDeps): void {
  const directory = { cells: deps.cells, own: deps.cell };
  endpoint(app, {
    kind: "page",
    method: "get",
    path: "/api/v1/budgets",
    summary: "List the budget usage of tenants",
    tag,
    answer: z.array(tenantBudgetUsageSchema),
    reaches: "cell",
    handler: async ({ ctx, query }) => await listBudgets(ctx, directory, query),
  });
  endpoint(app, {
    kind: "read",
    method: "get",
    path: "/api/v1/tenants/{id}/budget/usage",
    summary: "Read a tenant's budget usage",
    tag,
    access: { user: "tenant in path" },
    answer: budgetUsageSchema,
    reaches: "cell",
    handler: async ({ ctx, path }) => await getTenantBudgetUsage(ctx, directory, path.id),
  });
  endpoint(app, {
    kind: "read",
    method: "get",
    path: "/api/v1/keys/{id}/budget/usage",
    summary: "Read a key's budget usage",
    tag,
    access: { user: "key in path" },
    answer: budgetUsageSchema,
    reaches: "cell",
    handler: async ({ ctx, path }) => await getKeyBudgetUsage(ctx, directory, path.id),
  });
}
