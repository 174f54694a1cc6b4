/**
 * Tenant routes.
 */
import { z } from "zod";
import { createTenantSchema, tenantFilterSchema, tenantSchema } from "../../shared/schema/tenant.ts";
import { endpoint } from "../api/endpoint.ts";
import type { Api } from "../api/types.ts";
import { createTenant } from "./create-tenant.ts";
import { deleteTenant } from "./delete-tenant.ts";
import { getTenant, listTenants } from "./read-tenants.ts";
import { tenantChanges } from "./tenant-changes.ts";

const tag = "Tenants";
const one = "/api/v1/tenants/{id}";

interface ChangeRoute {
  readonly method: "put" | "patch";
  /** Below the tenant's own path. */
  readonly at: string;
  readonly change: (typeof tenantChanges)[keyof typeof tenantChanges];
  readonly summary: string;
  readonly description?: string;
}

/** The routes that each change some fields of a tenant, all made in the same way; `at` is the path below the tenant's. */
const TENANT_CHANGES: readonly ChangeRoute[] = [
  { method: "patch", at: "status", change: tenantChanges.status, summary: "Set the status of a tenant" },
  { method: "patch", at: "weight", change: tenantChanges.weight, summary: "Set the weight of a tenant in its group" },
  {
    method: "put",
    at: "quota",
    change: tenantChanges.quota,
    summary: "Set the quota of a tenant; omitted caps are removed",
  },
  { method: "patch", at: "group", change: tenantChanges.group, summary: "Move a tenant to another fairshare group" },
  {
    method: "patch",
    at: "budget",
    change: tenantChanges.budget,
    summary: "Change the budget of a tenant; null clears a field",
  },
  { method: "patch", at: "schedule", change: tenantChanges.schedule, summary: "Change when a tenant has access" },
  {
    method: "patch",
    at: "allowlist",
    change: tenantChanges.allowlist,
    summary: "Replace the allowed models of a tenant",
  },
  {
    method: "patch",
    at: "guardrails",
    change: tenantChanges.guardrails,
    summary: "Change or clear the guardrails policy of a tenant",
    description:
      "A policy is active as soon as it is set. Omitted fields keep their values; in a new policy they get the defaults: block, no scanners, fail open. A policy needs a scanner. The scanner `harm` needs a `guard_model`.",
  },
  {
    method: "patch",
    at: "compression",
    change: tenantChanges.compression,
    summary: "Change or clear the compression policy of a tenant",
    description: "Omitted fields keep their values. A null policy falls back to the global settings.",
  },
  {
    method: "put",
    at: "tracing",
    change: tenantChanges.tracing,
    summary: "Turn tracing on or off for all keys of a tenant",
  },
  {
    method: "put",
    at: "synthetic",
    change: tenantChanges.synthetic,
    summary: "Mark a tenant's traffic as synthetic or real",
  },
];

export function tenantRoutes(app: Api): void {
  endpoint(app, {
    kind: "page",
    method: "get",
    path: "/api/v1/tenants",
    summary: "List tenants",
    tag,
    query: tenantFilterSchema,
    answer: z.array(tenantSchema),
    handler: async ({ ctx, query }) => await listTenants(ctx, query),
  });
  endpoint(app, {
    kind: "create",
    method: "post",
    path: "/api/v1/tenants",
    summary: "Create a tenant",
    tag,
    body: createTenantSchema,
    answer: tenantSchema,
    handler: async ({ ctx, body }) => await createTenant(ctx, body),
  });
  endpoint(app, {
    kind: "read",
    method: "get",
    path: one,
    summary: "Read a tenant",
    tag,
    access: { user: "tenant in path" },
    answer: tenantSchema,
    handler: async ({ ctx, path }) => await getTenant(ctx, path.id),
  });
  endpoint(app, {
    kind: "write",
    method: "put",
    path: one,
    summary: "Update name, description, contact and time zone of a tenant",
    tag,
    body: tenantChanges.details.body,
    answer: tenantSchema,
    handler: async ({ ctx, path, body }) => await tenantChanges.details.apply(ctx, path.id, body),
  });
  endpoint(app, {
    kind: "write",
    method: "patch",
    path: one,
    summary: "Change fields of a tenant; null resets a field to its default",
    description: "Omitted fields keep their values, also inside a policy.",
    tag,
    body: tenantChanges.all.body,
    answer: tenantSchema,
    handler: async ({ ctx, path, body }) => await tenantChanges.all.apply(ctx, path.id, body),
  });
  endpoint(app, {
    kind: "write",
    method: "delete",
    path: one,
    summary: "Delete a tenant and its keys",
    tag,
    handler: async ({ ctx, path }) => await deleteTenant(ctx, path.id),
  });
  for (const { method, at, change, summary, description } of TENANT_CHANGES) {
    endpoint(app, {
      kind: "write",
      method,
      path: `${one}/${at}`,
      summary,
      description,
      tag,
      body: change.body,
      answer: tenantSchema,
      handler: async ({ ctx, path, body }) => await change.apply(ctx, path.id, body),
    });
  }
}
