/**
 * Budget routes: what is used of a budget.
 */
import { budgetUsageSchema } from "../../shared/schema/budget.ts";
import { getKeyBudgetUsage, getTenantBudgetUsage } from "../services/budgets/get-budget-usage.ts";
import { endpoint } from "./endpoint.ts";
import { pathId } from "./tenants.ts";
import type { Api, ApiDeps } from "./types.ts";

const tag = "Budgets";

export function budgetRoutes(app: Api, deps: ApiDeps): void {
  const directory = { cells: deps.cells, own: deps.cell };
  endpoint(app, {
    method: "get",
    path: "/api/v1/tenants/{id}/budget/usage",
    summary: "Read what a tenant has used of its budget",
    tag,
    answer: budgetUsageSchema,
    reaches: "cell",
    handler: async (c) => c.json(await getTenantBudgetUsage(c.var.ctx, directory, pathId(c))),
  });
  endpoint(app, {
    method: "get",
    path: "/api/v1/keys/{id}/budget/usage",
    summary: "Read what a key has used of its budget",
    tag,
    answer: budgetUsageSchema,
    reaches: "cell",
    handler: async (c) => c.json(await getKeyBudgetUsage(c.var.ctx, directory, pathId(c))),
  });
}
