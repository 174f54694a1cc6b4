/**
 * Inserts a tenant's row and its audit entry within a transaction: the part that every way of creating a tenant has in
 * common.
 */
import { GatewayError } from "../../shared/errors.ts";
import type { CreateTenant } from "../../shared/schema/tenant.ts";
import type { Transaction } from "../db/connect.ts";
import { type TenantRow, tenants } from "../db/schema/tenancy.ts";
import type { WriteJournal } from "../kernel/write-journal.ts";
import { tenantColumns } from "./tenant-columns.ts";

/** The row; its id is a new one unless the body has one. Throws the database's error. */
export async function insertTenant(
  tx: Transaction,
  journal: WriteJournal,
  { id, ...body }: CreateTenant & { readonly id?: string },
  now: Date,
): Promise<TenantRow> {
  const fields = tenantColumns(body, null, now) as typeof tenants.$inferInsert;
  const [row] = await tx
    .insert(tenants)
    .values({ ...fields, ...(id === undefined ? {} : { id }), created_at: now, updated_at: now, rev: journal.rev })
    .returning();
  if (row === undefined) throw new GatewayError("internal_error");
  journal.audit({ action: "create_tenant", entityType: "tenant", entityId: row.id, detail: { name: row.name } });
  return row;
}
