/**
 * Replaces a tenant's compression policy; null falls back to the global settings (decisions §3.4).
 */

import type { Tenant } from "../../../shared/schema/tenant.ts";
import { tenantCompressionSchema } from "../../../shared/schema/tenant-policy.ts";
import type { VerbContext, Written } from "../../kernel/context.ts";
import { compressionWarnings } from "../../kernel/no-effect-warnings.ts";
import { parse, parseId } from "../../kernel/parse.ts";
import { changeTenant } from "../../resources/change-tenant.ts";

/** The tenant. Throws 400, 404. */
export async function setTenantCompression(ctx: VerbContext, id: string, input: unknown): Promise<Written<Tenant>> {
  const tenantId = parseId(id);
  const { policy } = parse(tenantCompressionSchema, input);
  const fields = { compression_policy: policy };
  return await changeTenant(ctx, tenantId, "set_tenant_compression", () => fields, compressionWarnings(policy));
}
