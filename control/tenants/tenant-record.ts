/** A tenant's row as the Management API shows it, and the lock on the row for a write. */
import { eq } from "drizzle-orm";
import { GatewayError } from "../../shared/errors.ts";
import { type Tenant, tenantSchema } from "../../shared/schema/tenant.ts";
import type { Transaction } from "../db/connect.ts";
import { type TenantRow, tenants } from "../db/schema/tenancy.ts";
import { withIsoTimes } from "../kernel/iso-times.ts";

/** The record of a row. */
export function tenantRecord(row: TenantRow): Tenant {
  return tenantSchema.parse(withIsoTimes(row));
}

/** The row, locked until the transaction ends. Throws 404. */
export async function lockTenant(tx: Transaction, id: string): Promise<TenantRow> {
  const [row] = await tx.select().from(tenants).where(eq(tenants.id, id)).for("update");
  if (row === undefined) throw new GatewayError("not_found");
  return row;
}
