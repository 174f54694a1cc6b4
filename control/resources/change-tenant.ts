/**
 * What every change of one tenant's fields has in common: lock, update, audit, hot copies of its keys.
 */
import { eq } from "drizzle-orm";
import { GatewayError } from "../../shared/errors.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { type TenantRow, tenants } from "../db/schema/tenancy.ts";
import { changedFields } from "../kernel/changed-fields.ts";
import type { VerbContext, Written } from "../kernel/context.ts";
import { auditedWarnings, withWarnings } from "../kernel/warnings.ts";
import { isForeignKeyViolation, isUniqueViolation, write } from "../kernel/write.ts";
import { lockTenant, tenantRecord } from "./tenant-record.ts";

type Fields = Partial<Omit<TenantRow, "id" | "rev" | "created_at" | "updated_at">>;

/**
 * Sets fields of a tenant; `fields` sees the row as it is, and the time of the change; `warnings` are told of it. Throws 404, 409, 400
 * `unknown_fairshare_group`.
 */
export async function changeTenant(
  ctx: VerbContext,
  id: string,
  action: string,
  fields: (row: TenantRow, now: Date) => Fields,
  warnings: readonly string[] = [],
): Promise<Written<Tenant>> {
  return await write(ctx, async (tx, journal) => {
    const before = await lockTenant(tx, id);
    const now = ctx.now();
    const wanted = fields(before, now);
    try {
      const [after] = await tx
        .update(tenants)
        .set({ ...wanted, rev: journal.rev, updated_at: now })
        .where(eq(tenants.id, id))
        .returning();
      if (after === undefined) throw new GatewayError("not_found");
      journal.audit({
        action,
        entityType: "tenant",
        entityId: id,
        detail: { ...changedFields(before, wanted), ...auditedWarnings(warnings) },
      });
      journal.tenantChanged(id);
      return withWarnings(tenantRecord(after), warnings);
    } catch (error) {
      if (isUniqueViolation(error))
        throw new GatewayError("already_exists", { value: `tenant '${wanted.name ?? ""}'`, param: "name" });
      if (isForeignKeyViolation(error))
        throw new GatewayError("unknown_fairshare_group", { value: wanted.fairshare_group ?? "" });
      throw error;
    }
  });
}
