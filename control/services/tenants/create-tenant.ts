/**
 * Creates a tenant (decisions §3.2).
 */
import { GatewayError } from "../../../shared/errors.ts";
import { createTenantSchema, type Tenant } from "../../../shared/schema/tenant.ts";
import { tenants } from "../../db/schema/tenancy.ts";
import type { VerbContext, Written } from "../context.ts";
import { parse } from "../parse.ts";
import { isForeignKeyViolation, isUniqueViolation, write } from "../write.ts";
import { tenantRecord } from "./tenant-record.ts";

/** The new tenant. Throws 400, 400 `unknown_fairshare_group`, 409. */
export async function createTenant(ctx: VerbContext, input: unknown): Promise<Written<Tenant>> {
  const body = parse(createTenantSchema, input);
  return await write(ctx, async (tx, journal) => {
    try {
      const now = ctx.now();
      const [row] = await tx
        .insert(tenants)
        .values({
          ...body,
          status: "active",
          weekly_windows: [],
          tracing_enabled: false,
          created_at: now,
          updated_at: now,
          rev: journal.rev,
        })
        .returning();
      if (row === undefined) throw new GatewayError("internal_error");
      journal.audit({ action: "create_tenant", entityType: "tenant", entityId: row.id, detail: { name: row.name } });
      return tenantRecord(row);
    } catch (error) {
      if (isUniqueViolation(error))
        throw new GatewayError("already_exists", { value: `tenant '${body.name}'`, param: "name" });
      if (isForeignKeyViolation(error))
        throw new GatewayError("unknown_fairshare_group", { value: body.fairshare_group });
      throw error;
    }
  });
}
