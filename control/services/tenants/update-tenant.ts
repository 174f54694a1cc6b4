/**
 * Updates what a tenant is called and how it is reached; what is omitted keeps its value (decisions §3.2).
 */
import { type Tenant, updateTenantSchema } from "../../../shared/schema/tenant.ts";
import type { VerbContext, Written } from "../../kernel/context.ts";
import { dropUndefined, parse, parseId } from "../../kernel/parse.ts";
import { changeTenant } from "../../resources/change-tenant.ts";

/** The tenant. Throws 400, 404, 409. */
export async function updateTenant(ctx: VerbContext, id: string, input: unknown): Promise<Written<Tenant>> {
  const tenantId = parseId(id);
  const fields = dropUndefined(parse(updateTenantSchema, input));
  return await changeTenant(ctx, tenantId, "update_tenant", () => fields);
}
