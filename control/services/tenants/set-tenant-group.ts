/**
 * Moves a tenant to another fairshare group (decisions §3.2).
 */
import { type Tenant, tenantGroupSchema } from "../../../shared/schema/tenant.ts";
import type { VerbContext, Written } from "../../kernel/context.ts";
import { parse, parseId } from "../../kernel/parse.ts";
import { changeTenant } from "../../resources/change-tenant.ts";

/** The tenant. Throws 400, 400 `unknown_fairshare_group`, 404. */
export async function setTenantGroup(ctx: VerbContext, id: string, input: unknown): Promise<Written<Tenant>> {
  const tenantId = parseId(id);
  const body = parse(tenantGroupSchema, input);
  return await changeTenant(ctx, tenantId, "update_tenant_group", () => body);
}
