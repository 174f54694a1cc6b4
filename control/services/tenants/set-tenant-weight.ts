/**
 * Sets a tenant's share within its group (decisions §3.2).
 */
import { type Tenant, tenantWeightSchema } from "../../../shared/schema/tenant.ts";
import type { VerbContext, Written } from "../../kernel/context.ts";
import { parse, parseId } from "../../kernel/parse.ts";
import { changeTenant } from "../../resources/change-tenant.ts";

/** The tenant. Throws 400, 404. */
export async function setTenantWeight(ctx: VerbContext, id: string, input: unknown): Promise<Written<Tenant>> {
  const tenantId = parseId(id);
  const body = parse(tenantWeightSchema, input);
  return await changeTenant(ctx, tenantId, "update_weight", () => body);
}
