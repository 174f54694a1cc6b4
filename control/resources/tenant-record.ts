/**
 * A tenant's row as the Management API shows it, and the row locked for a write.
 */
import { eq } from "drizzle-orm";
import { GatewayError } from "../../shared/errors.ts";
import { type Tenant, tenantSchema } from "../../shared/schema/tenant.ts";
import type { Transaction } from "../db/connect.ts";
import { type TenantRow, tenants } from "../db/schema/tenancy.ts";

/** The record of a row. */
export function tenantRecord(row: TenantRow): Tenant {
  const iso = (date: Date | null): string | null => date?.toISOString() ?? null;
  return tenantSchema.parse({
    ...row,
    active_from: iso(row.active_from),
    active_until: iso(row.active_until),
    budget_started_at: iso(row.budget_started_at),
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
  });
}

/** The row, locked until the transaction ends. Throws 404. */
export async function lockTenant(tx: Transaction, id: string): Promise<TenantRow> {
  const [row] = await tx.select().from(tenants).where(eq(tenants.id, id)).for("update");
  if (row === undefined) throw new GatewayError("not_found");
  return row;
}
