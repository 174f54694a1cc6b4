/**
 * Tenants and keys that the gateway makes for itself (docs/rules/assistant.md#model, docs/rules/benchmarks.md#tenant). They belong to a
 * gateway, not to its configuration: backups leave them out, and nobody has to look after their keys.
 */
import { and, ne, type SQL, sql } from "drizzle-orm";
import type { PgColumn } from "drizzle-orm/pg-core";
import { CONSOLE_KEY_ID_START } from "../../shared/access/console-key.ts";
import type { Transaction } from "../db/connect.ts";
import { tenants } from "../db/schema/tenancy.ts";

/** The tenant as which the console's assistant asks its model. It is known by its id: its name may be another one. */
export const ASSISTANT_TENANT_ID = "00000000-0000-4000-8000-000000000a55";
const ASSISTANT_TENANT_NAME = "gateway-assistant";

/** The name for the assistant's tenant, with a number after it when another tenant, or one of `coming`, has it. */
export async function freeAssistantName(tx: Transaction, coming: readonly string[] = []): Promise<string> {
  const rows = await tx
    .select({ name: tenants.name })
    .from(tenants)
    .where(and(ne(tenants.id, ASSISTANT_TENANT_ID), sql`starts_with(${tenants.name}, ${ASSISTANT_TENANT_NAME})`));
  const taken = new Set([...rows.map(({ name }) => name), ...coming]);
  let name = ASSISTANT_TENANT_NAME;
  for (let at = 2; taken.has(name); at += 1) name = `${ASSISTANT_TENANT_NAME}-${at}`;
  return name;
}

/** True for rows of tenants that admins have made; `tenantId`: the column with the tenant. */
export function isOfAdmins(tenantId: PgColumn): SQL {
  return sql`(${tenantId} <> ${ASSISTANT_TENANT_ID}::uuid AND NOT EXISTS (SELECT 1 FROM benchmarks b WHERE b.tenant_id = ${tenantId}))`;
}

/** True for keys that the console has made for its playground; `keyId`: the column with the id. */
export function isOfConsole(keyId: PgColumn): SQL {
  return sql`starts_with(${keyId}::text, ${CONSOLE_KEY_ID_START})`;
}

/** True for keys that somebody has made, and looks after: not those of the gateway's own tenants, or of the console. */
export function isKeyOfPeople(keyId: PgColumn, tenantId: PgColumn): SQL {
  return sql`(${isOfAdmins(tenantId)} AND NOT ${isOfConsole(keyId)})`;
}
