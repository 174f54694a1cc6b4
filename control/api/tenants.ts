/**
 * Tenant routes.
 */
import { z } from "zod";
import {
  createTenantSchema,
  tenantAllowlistSchema,
  tenantBudgetSchema,
  tenantGroupSchema,
  tenantQuotaSchema,
  tenantScheduleSchema,
  tenantSchema,
  tenantStatusSchema,
  tenantWeightSchema,
  updateTenantSchema,
} from "../../shared/schema/tenant.ts";
import { createTenant } from "../services/tenants/create-tenant.ts";
import { deleteTenant } from "../services/tenants/delete-tenant.ts";
import { getTenant } from "../services/tenants/get-tenant.ts";
import { listTenants } from "../services/tenants/list-tenants.ts";
import { setTenantAllowlist } from "../services/tenants/set-tenant-allowlist.ts";
import { setTenantBudget } from "../services/tenants/set-tenant-budget.ts";
import { setTenantGroup } from "../services/tenants/set-tenant-group.ts";
import { setTenantQuota } from "../services/tenants/set-tenant-quota.ts";
import { setTenantSchedule } from "../services/tenants/set-tenant-schedule.ts";
import { setTenantStatus } from "../services/tenants/set-tenant-status.ts";
import { setTenantWeight } from "../services/tenants/set-tenant-weight.ts";
import { updateTenant } from "../services/tenants/update-tenant.ts";
import { create, endpoint, jsonBody, paged, type RouteContext, written } from "./endpoint.ts";
import { pageQuerySchema } from "./page-query.ts";
import type { Api } from "./types.ts";

const tag = "Tenants";
const one = "/api/v1/tenants/{id}";

/** The id of the path. */
export const pathId = (c: RouteContext): string => c.req.param("id") ?? "";

export function tenantRoutes(app: Api): void {
  endpoint(app, {
    method: "get",
    path: "/api/v1/tenants",
    summary: "List tenants",
    tag,
    query: pageQuerySchema,
    answer: z.array(tenantSchema),
    handler: async (c) => paged(c, await listTenants(c.var.ctx, c.req.query())),
  });
  endpoint(app, {
    method: "post",
    path: "/api/v1/tenants",
    summary: "Create a tenant",
    tag,
    body: createTenantSchema,
    answer: tenantSchema,
    creates: true,
    handler: async (c) => await create(c, async (input) => await createTenant(c.var.ctx, input)),
  });
  endpoint(app, {
    method: "get",
    path: one,
    summary: "Read a tenant",
    tag,
    answer: tenantSchema,
    handler: async (c) => c.json(await getTenant(c.var.ctx, pathId(c))),
  });
  endpoint(app, {
    method: "put",
    path: one,
    summary: "Update name, description and contact of a tenant",
    tag,
    body: updateTenantSchema,
    answer: tenantSchema,
    handler: async (c) => written(c, await updateTenant(c.var.ctx, pathId(c), await jsonBody(c))),
  });
  endpoint(app, {
    method: "delete",
    path: one,
    summary: "Delete a tenant and its keys",
    tag,
    handler: async (c) => written(c, await deleteTenant(c.var.ctx, pathId(c))),
  });
  endpoint(app, {
    method: "patch",
    path: `${one}/status`,
    summary: "Set the status of a tenant",
    tag,
    body: tenantStatusSchema,
    answer: tenantSchema,
    handler: async (c) => written(c, await setTenantStatus(c.var.ctx, pathId(c), await jsonBody(c))),
  });
  endpoint(app, {
    method: "patch",
    path: `${one}/weight`,
    summary: "Set the weight of a tenant in its group",
    tag,
    body: tenantWeightSchema,
    answer: tenantSchema,
    handler: async (c) => written(c, await setTenantWeight(c.var.ctx, pathId(c), await jsonBody(c))),
  });
  endpoint(app, {
    method: "put",
    path: `${one}/quota`,
    summary: "Replace the quota of a tenant",
    tag,
    body: tenantQuotaSchema,
    answer: tenantSchema,
    handler: async (c) => written(c, await setTenantQuota(c.var.ctx, pathId(c), await jsonBody(c))),
  });
  endpoint(app, {
    method: "patch",
    path: `${one}/group`,
    summary: "Move a tenant to another fairshare group",
    tag,
    body: tenantGroupSchema,
    answer: tenantSchema,
    handler: async (c) => written(c, await setTenantGroup(c.var.ctx, pathId(c), await jsonBody(c))),
  });
  endpoint(app, {
    method: "patch",
    path: `${one}/budget`,
    summary: "Replace the budget of a tenant",
    tag,
    body: tenantBudgetSchema,
    answer: tenantSchema,
    handler: async (c) => written(c, await setTenantBudget(c.var.ctx, pathId(c), await jsonBody(c))),
  });
  endpoint(app, {
    method: "patch",
    path: `${one}/schedule`,
    summary: "Replace when a tenant may be served",
    tag,
    body: tenantScheduleSchema,
    answer: tenantSchema,
    handler: async (c) => written(c, await setTenantSchedule(c.var.ctx, pathId(c), await jsonBody(c))),
  });
  endpoint(app, {
    method: "patch",
    path: `${one}/allowlist`,
    summary: "Replace the models that a tenant may use",
    tag,
    body: tenantAllowlistSchema,
    answer: tenantSchema,
    handler: async (c) => written(c, await setTenantAllowlist(c.var.ctx, pathId(c), await jsonBody(c))),
  });
}
