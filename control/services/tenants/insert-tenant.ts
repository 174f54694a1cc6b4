/**
 * A new tenant's row within a transaction, with its audit entry: what every way to a tenant has in common.
 */
import { GatewayError } from "../../../shared/errors.ts";
import type { CreateTenant } from "../../../shared/schema/tenant.ts";
import type { Transaction } from "../../db/connect.ts";
import { type TenantRow, tenants } from "../../db/schema/tenancy.ts";
import type { WriteJournal } from "../../kernel/write.ts";

/** The row. Throws what the database refuses. */
export async function insertTenant(
  tx: Transaction,
  journal: WriteJournal,
  body: CreateTenant,
  now: Date,
): Promise<TenantRow> {
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
  return row;
}
