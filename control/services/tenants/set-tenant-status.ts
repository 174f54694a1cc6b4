/**
 * Sets a tenant's status; any status may follow any (decisions §3.2).
 */
import { type Tenant, tenantStatusSchema } from "../../../shared/schema/tenant.ts";
import type { VerbContext, Written } from "../../kernel/context.ts";
import { parse, parseId } from "../../kernel/parse.ts";
import { changeTenant } from "../../resources/change-tenant.ts";

/** The tenant. Throws 400, 404. */
export async function setTenantStatus(ctx: VerbContext, id: string, input: unknown): Promise<Written<Tenant>> {
  const tenantId = parseId(id);
  const { status } = parse(tenantStatusSchema, input);
  return await changeTenant(ctx, tenantId, "set_tenant_status", () => ({ status }));
}
