/**
 * Replaces a tenant's guardrails policy; null turns guardrails off (decisions §3.3).
 */

import type { Tenant } from "../../../shared/schema/tenant.ts";
import { tenantGuardrailsSchema } from "../../../shared/schema/tenant-policy.ts";
import type { VerbContext, Written } from "../../kernel/context.ts";
import { guardrailsWarnings } from "../../kernel/no-effect-warnings.ts";
import { parse, parseId } from "../../kernel/parse.ts";
import { changeTenant } from "../../resources/change-tenant.ts";

/** The tenant. Throws 400, 404. */
export async function setTenantGuardrails(ctx: VerbContext, id: string, input: unknown): Promise<Written<Tenant>> {
  const tenantId = parseId(id);
  const { policy } = parse(tenantGuardrailsSchema, input);
  const fields = { guardrails_policy: policy };
  return await changeTenant(ctx, tenantId, "set_tenant_guardrails", () => fields, guardrailsWarnings(policy));
}
