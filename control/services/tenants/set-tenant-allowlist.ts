/**
 * Replaces the models that a tenant may use (decisions §3.2).
 */
import { type Tenant, tenantAllowlistSchema } from "../../../shared/schema/tenant.ts";
import type { VerbContext, Written } from "../../kernel/context.ts";
import { parse, parseId } from "../../kernel/parse.ts";
import { changeTenant } from "../../resources/change-tenant.ts";

/** The tenant. Throws 400, 404. */
export async function setTenantAllowlist(ctx: VerbContext, id: string, input: unknown): Promise<Written<Tenant>> {
  const tenantId = parseId(id);
  const body = parse(tenantAllowlistSchema, input);
  return await changeTenant(ctx, tenantId, "set_tenant_allowlist", () => body);
}
