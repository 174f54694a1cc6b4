/** Whose key an id of a path is: before a request for a user of one tenant reaches a verb (docs/rules/console.md#live). */
import { eq } from "drizzle-orm";
import { apiKeys } from "../db/schema/tenancy.ts";
import type { VerbContext } from "./context.ts";
import { withDatabaseErrors } from "./database-errors.ts";
import { UUID } from "./parse.ts";

/** The tenant of a key; null: there is no such key. Throws 503. */
export async function tenantOfKey(ctx: VerbContext, id: string): Promise<string | null> {
  if (!UUID.test(id)) return null;
  const [key] = await withDatabaseErrors(async () =>
    ctx.db.select({ tenant_id: apiKeys.tenant_id }).from(apiKeys).where(eq(apiKeys.id, id)),
  );
  return key?.tenant_id ?? null;
}
