/**
 * How much the users of a tenant may store in the lists of models of its keys, all together (docs/rules/keys.md#admins-and-users):
 * every read of the keys has them.
 */
import { and, eq, ne, sql } from "drizzle-orm";
import { LIMITS } from "../../shared/catalogues/limits.ts";
import type { Transaction } from "../db/connect.ts";
import { type ApiKeyRow, apiKeys } from "../db/schema/tenancy.ts";
import { fieldError } from "../kernel/parse.ts";

const bytesOf = (list: unknown): number => (Array.isArray(list) ? Buffer.byteLength(JSON.stringify(list)) : 0);

/** Checks the list that a user gives a key; `before`: the key as it is, null for a new one. Throws 400 for a longer one. */
export async function boundModelNames(
  tx: Transaction,
  tenantId: string,
  list: unknown,
  before: ApiKeyRow | null,
): Promise<void> {
  const bytes = bytesOf(list);
  if (bytes <= bytesOf(before?.allowed_models)) return;
  const others = and(eq(apiKeys.tenant_id, tenantId), before === null ? undefined : ne(apiKeys.id, before.id));
  const [sum] = await tx
    .select({ bytes: sql<string>`coalesce(sum(octet_length(${apiKeys.allowed_models}::text)), 0)::text` })
    .from(apiKeys)
    .where(others);
  if (Number(sum?.bytes) + bytes > LIMITS.usersModelNames)
    throw fieldError(
      "allowed_models",
      `would make the lists of all keys of the tenant longer than ${LIMITS.usersModelNames} bytes: shorten it, or ask an admin`,
    );
}
