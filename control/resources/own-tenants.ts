/**
 * Tenants that the gateway makes for itself (docs/rules/assistant.md#model, docs/rules/benchmarks.md#tenant). They belong to a
 * gateway, not to its configuration: backups leave them out, and nobody has to look after their keys.
 */
import { type SQL, sql } from "drizzle-orm";
import type { PgColumn } from "drizzle-orm/pg-core";

/** The tenant as which the console's assistant asks its model. */
export const ASSISTANT_TENANT_ID = "00000000-0000-4000-8000-000000000a55";
export const ASSISTANT_TENANT_NAME = "gateway-assistant";

/** True for rows of tenants that admins have made; `tenantId`: the column with the tenant. */
export function isOfAdmins(tenantId: PgColumn): SQL {
  return sql`(${tenantId} <> ${ASSISTANT_TENANT_ID}::uuid AND NOT EXISTS (SELECT 1 FROM benchmarks b WHERE b.tenant_id = ${tenantId}))`;
}
