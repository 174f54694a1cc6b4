/**
 * Lists tenants, oldest first (decisions §2.4).
 */
import { getTableColumns } from "drizzle-orm";
import type { Tenant } from "../../../shared/schema/tenant.ts";
import { tenants } from "../../db/schema/tenancy.ts";
import type { Page, VerbContext } from "../../kernel/context.ts";
import { afterCreated, byCreated, createdMicros, parsePage, toPage } from "../../kernel/paging.ts";
import { withDatabaseErrors } from "../../kernel/write.ts";
import { tenantRecord } from "../../resources/tenant-record.ts";

/** One page. Throws 400. */
export async function listTenants(ctx: VerbContext, query: unknown): Promise<Page<Tenant>> {
  const page = parsePage(query);
  const rows = await withDatabaseErrors(async () =>
    ctx.db
      .select({ ...getTableColumns(tenants), micros: createdMicros(tenants.created_at) })
      .from(tenants)
      .where(afterCreated(tenants, page))
      .orderBy(...byCreated(tenants))
      .limit(page.limit + 1),
  );
  return toPage(rows, page, (row) => [row.micros, row.id], tenantRecord);
}
