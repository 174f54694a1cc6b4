/**
 * Marks a tenant's traffic as benchmark or test traffic, or as real.
 */

import type { Tenant } from "../../../shared/schema/tenant.ts";
import { tenantSyntheticSchema } from "../../../shared/schema/tenant-policy.ts";
import type { VerbContext, Written } from "../../kernel/context.ts";
import { parse, parseId } from "../../kernel/parse.ts";
import { changeTenant } from "../../resources/change-tenant.ts";

/** The tenant. Throws 400, 404. */
export async function setTenantSynthetic(ctx: VerbContext, id: string, input: unknown): Promise<Written<Tenant>> {
  const tenantId = parseId(id);
  const fields = parse(tenantSyntheticSchema, input);
  return await changeTenant(ctx, tenantId, "set_tenant_synthetic", () => fields);
}
