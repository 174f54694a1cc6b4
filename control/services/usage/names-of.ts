/**
 * Names of tenants and keys for rows of the ledger; what was deleted has none (decisions §12.3).
 */
import { inArray } from "drizzle-orm";
import { apiKeys, tenants } from "../../db/schema/tenancy.ts";
import type { VerbContext } from "../../kernel/context.ts";
import { withDatabaseErrors } from "../../kernel/write.ts";

interface Named {
  readonly tenant_name: string;
  readonly fairshare_group: string;
  readonly key_name: string;
  readonly key_prefix: string;
}

/** The names of each row. Throws 503. */
export async function namesOf(
  ctx: VerbContext,
  rows: readonly { readonly tenant_id: string; readonly key_id: string }[],
): Promise<(row: { readonly tenant_id: string; readonly key_id: string }) => Named> {
  const tenantIds = [...new Set(rows.map((row) => row.tenant_id))];
  const keyIds = [...new Set(rows.map((row) => row.key_id))];
  const [tenantRows, keyRows] = await withDatabaseErrors(async () =>
    rows.length === 0
      ? [[], []]
      : [
          await ctx.db
            .select({ id: tenants.id, name: tenants.name, group: tenants.fairshare_group })
            .from(tenants)
            .where(inArray(tenants.id, tenantIds)),
          await ctx.db
            .select({ id: apiKeys.id, name: apiKeys.name, prefix: apiKeys.key_prefix })
            .from(apiKeys)
            .where(inArray(apiKeys.id, keyIds)),
        ],
  );
  const byTenant = new Map(tenantRows.map((row) => [row.id, row]));
  const byKey = new Map(keyRows.map((row) => [row.id, row]));
  return (row) => ({
    tenant_name: byTenant.get(row.tenant_id)?.name ?? "",
    fairshare_group: byTenant.get(row.tenant_id)?.group ?? "",
    key_name: byKey.get(row.key_id)?.name ?? "",
    key_prefix: byKey.get(row.key_id)?.prefix ?? "",
  });
}
