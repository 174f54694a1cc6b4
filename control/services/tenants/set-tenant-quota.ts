/**
 * Replaces a tenant's tokens per minute and its cap of requests in flight; an omitted cap is none (decisions §3.2).
 */
import { type Tenant, tenantQuotaSchema } from "../../../shared/schema/tenant.ts";
import type { VerbContext, Written } from "../../kernel/context.ts";
import { parse, parseId } from "../../kernel/parse.ts";
import { changeTenant } from "../../resources/change-tenant.ts";

/** The tenant. Throws 400, 404. */
export async function setTenantQuota(ctx: VerbContext, id: string, input: unknown): Promise<Written<Tenant>> {
  const tenantId = parseId(id);
  const body = parse(tenantQuotaSchema, input);
  return await changeTenant(ctx, tenantId, "update_quota", () => body);
}
