/**
 * Routes of what a tenant's traffic is held to besides its load.
 */
import { tenantSchema } from "../../shared/schema/tenant.ts";
import {
  tenantCompressionSchema,
  tenantGuardrailsSchema,
  tenantSyntheticSchema,
  tracingSchema,
} from "../../shared/schema/tenant-policy.ts";
import { setTenantCompression } from "../services/tenants/set-tenant-compression.ts";
import { setTenantGuardrails } from "../services/tenants/set-tenant-guardrails.ts";
import { setTenantSynthetic } from "../services/tenants/set-tenant-synthetic.ts";
import { setTenantTracing } from "../services/tenants/set-tenant-tracing.ts";
import { endpoint, jsonBody, written } from "./endpoint.ts";
import { pathId } from "./tenants.ts";
import type { Api } from "./types.ts";

const tag = "Tenants";
const one = "/api/v1/tenants/{id}";

export function tenantPolicyRoutes(app: Api): void {
  endpoint(app, {
    method: "patch",
    path: `${one}/guardrails`,
    summary: "Replace or clear the guardrails policy of a tenant",
    description:
      "A policy that is set is on. What it omits takes its default: block, no scanners, fail open. The scanner `harm` needs a `guard_model`.",
    tag,
    body: tenantGuardrailsSchema,
    answer: tenantSchema,
    handler: async (c) => written(c, await setTenantGuardrails(c.var.ctx, pathId(c), await jsonBody(c))),
  });
  endpoint(app, {
    method: "patch",
    path: `${one}/compression`,
    summary: "Replace or clear the compression policy of a tenant",
    description: "Null falls back to the global settings.",
    tag,
    body: tenantCompressionSchema,
    answer: tenantSchema,
    handler: async (c) => written(c, await setTenantCompression(c.var.ctx, pathId(c), await jsonBody(c))),
  });
  endpoint(app, {
    method: "put",
    path: `${one}/tracing`,
    summary: "Turn span tracing of all keys of a tenant on or off",
    tag,
    body: tracingSchema,
    answer: tenantSchema,
    handler: async (c) => written(c, await setTenantTracing(c.var.ctx, pathId(c), await jsonBody(c))),
  });
  endpoint(app, {
    method: "put",
    path: `${one}/synthetic`,
    summary: "Mark the traffic of a tenant as synthetic, or as real",
    tag,
    body: tenantSyntheticSchema,
    answer: tenantSchema,
    handler: async (c) => written(c, await setTenantSynthetic(c.var.ctx, pathId(c), await jsonBody(c))),
  });
}
