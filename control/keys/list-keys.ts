/**
 * Lists the keys of a tenant, oldest first (docs/rules/management-api.md#lists).
 */
import { and, eq, getTableColumns } from "drizzle-orm";
import type { ApiKey } from "../../shared/schema/api-key.ts";
import { apiKeys } from "../db/schema/tenancy.ts";
import type { Page, VerbContext } from "../kernel/context.ts";
import { afterCreated, byCreated, createdMicros, parsePage, readPage } from "../kernel/paging.ts";
import { getTenant } from "../tenants/read-tenants.ts";
import { keyRecord } from "./key-record.ts";

/** One page. Throws 400, 404. */
export async function listKeys(ctx: VerbContext, tenant: string, query: unknown): Promise<Page<ApiKey>> {
  const { id } = await getTenant(ctx, tenant);
  const page = parsePage(query);
  return await readPage(
    page,
    (part) =>
      ctx.db
        .select({ ...getTableColumns(apiKeys), micros: createdMicros(apiKeys.created_at) })
        .from(apiKeys)
        .where(and(eq(apiKeys.tenant_id, id), afterCreated(apiKeys, part)))
        .orderBy(...byCreated(apiKeys))
        .limit(part.limit),
    (row) => [row.micros, row.id],
    keyRecord,
  );
}
