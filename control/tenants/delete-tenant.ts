/**
 * Deletes a tenant with its keys; ledger rows stay (docs/rules/tenants.md#writes).
 */
import { eq, inArray, sql } from "drizzle-orm";
import { apiKeys, tenants } from "../db/schema/tenancy.ts";
import { users, userTenants } from "../db/schema/users.ts";
import type { VerbContext, Written } from "../kernel/context.ts";
import { parseId } from "../kernel/parse.ts";
import { write } from "../kernel/write.ts";
import { deleteKeys, keepNames } from "./delete-keys.ts";
import { lockTenant, tenantRecord } from "./tenant-record.ts";

/** Throws 404. */
export async function deleteTenant(ctx: VerbContext, id: string): Promise<Written<null>> {
  const tenantId = parseId(id);
  return await write(ctx, async (tx, journal) => {
    const row = await lockTenant(tx, tenantId);
    ctx.checkRecord?.(tenantRecord(row));
    const keys = await deleteKeys(tx, eq(apiKeys.tenant_id, tenantId));
    await keepNames(tx, sql`SELECT ${row.id}::uuid, ${row.id}::uuid, ${row.name}::text, ''`);
    await tx.update(users).set({ tenant_id: null, rev: journal.rev }).where(eq(users.tenant_id, tenantId));
    const having = tx.select({ id: userTenants.user_id }).from(userTenants).where(eq(userTenants.tenant_id, tenantId));
    await tx.update(users).set({ rev: journal.rev }).where(inArray(users.id, having));
    await tx.delete(tenants).where(eq(tenants.id, tenantId));
    journal.audit({
      action: "delete_tenant",
      entityType: "tenant",
      entityId: tenantId,
      detail: { name: row.name, keys_removed: keys.length },
    });
    journal.keysRemoved(keys);
    journal.tenantChanged(tenantId);
    journal.capturesRemoved(tenantId);
    return null;
  });
}
