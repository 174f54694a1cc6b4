/**
 * A key's row as the Management API shows it, without its hash; and the lock on the row for a write, after the lock on its
 * tenant's row.
 */
import { eq } from "drizzle-orm";
import { isConsoleKey } from "../../shared/access/console-key.ts";
import { GatewayError } from "../../shared/errors.ts";
import { type ApiKey, apiKeySchema } from "../../shared/schema/api-key.ts";
import type { Transaction } from "../db/connect.ts";
import { type ApiKeyRow, apiKeys } from "../db/schema/tenancy.ts";
import { withIsoTimes } from "../kernel/iso-times.ts";
import { fieldError } from "../kernel/parse.ts";
import { lockTenant } from "../tenants/tenant-record.ts";

/** The record of a row. */
export function keyRecord(row: ApiKeyRow): ApiKey {
  return apiKeySchema.parse(withIsoTimes(row));
}

/** The row, locked after its tenant's row (docs/rules/freshness.md#write-path). Throws 404. */
export async function lockKey(tx: Transaction, id: string): Promise<ApiKeyRow> {
  const [found] = await tx.select({ tenant_id: apiKeys.tenant_id }).from(apiKeys).where(eq(apiKeys.id, id));
  if (found === undefined) throw new GatewayError("not_found");
  await lockTenant(tx, found.tenant_id);
  const [row] = await tx.select().from(apiKeys).where(eq(apiKeys.id, id)).for("update");
  if (row === undefined) throw new GatewayError("not_found");
  return row;
}

/** Throws 400 for a key of the console: its secret and its name are those of a person, and nobody else is to have or change them. */
export function refuseConsoleKey({ id }: Pick<ApiKeyRow, "id">): void {
  if (isConsoleKey(id))
    throw fieldError(
      "id",
      "must be a key that people manage; this one is the console's, and an admin can disable or delete it",
    );
}
