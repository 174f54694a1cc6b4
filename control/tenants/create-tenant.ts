/**
 * Creates a tenant (docs/rules/tenants.md#writes).
 */
import { GatewayError } from "../../shared/errors.ts";
import { createTenantSchema, type Tenant } from "../../shared/schema/tenant.ts";
import type { VerbContext, Written } from "../kernel/context.ts";
import { isForeignKeyViolation, isUniqueViolation } from "../kernel/database-errors.ts";
import { parse } from "../kernel/parse.ts";
import { write } from "../kernel/write.ts";
import { insertTenant } from "./insert-tenant.ts";
import { checkCapture } from "./tenant-columns.ts";
import { tenantRecord } from "./tenant-record.ts";

/** The new tenant. Throws 400, 400 `unknown_fairshare_group`, 409. */
export async function createTenant(ctx: VerbContext, input: unknown): Promise<Written<Tenant>> {
  const body = parse(createTenantSchema, input);
  checkCapture(ctx, body.capture_until);
  return await write(ctx, async (tx, journal) => {
    try {
      return tenantRecord(await insertTenant(tx, journal, body, ctx.now()));
    } catch (error) {
      if (isUniqueViolation(error))
        throw new GatewayError("already_exists", { value: `tenant '${body.name}'`, param: "name" });
      if (isForeignKeyViolation(error))
        throw new GatewayError("unknown_fairshare_group", { value: body.fairshare_group });
      throw error;
    }
  });
}
