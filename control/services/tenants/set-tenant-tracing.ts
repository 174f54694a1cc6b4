/**
 * Turns span tracing of all keys of a tenant on or off.
 */

import type { Tenant } from "../../../shared/schema/tenant.ts";
import { tracingSchema } from "../../../shared/schema/tenant-policy.ts";
import type { VerbContext, Written } from "../../kernel/context.ts";
import { parse, parseId } from "../../kernel/parse.ts";
import { changeTenant } from "../../resources/change-tenant.ts";

/** The tenant. Throws 400, 404. */
export async function setTenantTracing(ctx: VerbContext, id: string, input: unknown): Promise<Written<Tenant>> {
  const tenantId = parseId(id);
  const { tracing_enabled } = parse(tracingSchema, input);
  const action = tracing_enabled ? "enable_tenant_tracing" : "disable_tenant_tracing";
  return await changeTenant(ctx, tenantId, action, () => ({ tracing_enabled }));
}
