/**
 * Reads one tenant, and lists tenants, oldest first, by status, group and a part of name, description or contact
 * (docs/rules/management-api.md#lists, docs/rules/management-api.md#searches).
 */
import { and, eq, getTableColumns } from "drizzle-orm";
import { GatewayError } from "../../shared/errors.ts";
import { type Tenant, tenantFilterSchema } from "../../shared/schema/tenant.ts";
import { tenants } from "../db/schema/tenancy.ts";
import type { Page, VerbContext } from "../kernel/context.ts";
import { withDatabaseErrors } from "../kernel/database-errors.ts";
import { afterCreated, byCreated, createdMicros, parseFiltered, readPage } from "../kernel/paging.ts";
import { parseId } from "../kernel/parse.ts";
import { containing } from "../kernel/search.ts";
import { tenantRecord } from "./tenant-record.ts";

/** The tenant. Throws 404. */
export async function getTenant(ctx: VerbContext, id: string): Promise<Tenant> {
  const tenantId = parseId(id);
  const [row] = await withDatabaseErrors(async () => ctx.db.select().from(tenants).where(eq(tenants.id, tenantId)));
  if (row === undefined) throw new GatewayError("not_found");
  return tenantRecord(row);
}

/** One page. Throws 400. */
export async function listTenants(ctx: VerbContext, query: unknown): Promise<Page<Tenant>> {
  const { page, filter } = parseFiltered(tenantFilterSchema, query);
  const { q, status, group } = filter;
  return await readPage(
    page,
    (part) =>
      ctx.db
        .select({ ...getTableColumns(tenants), micros: createdMicros(tenants.created_at) })
        .from(tenants)
        .where(
          and(
            afterCreated(tenants, part),
            status === undefined ? undefined : eq(tenants.status, status),
            group === undefined ? undefined : eq(tenants.fairshare_group, group),
            containing(q, [tenants.name, tenants.description, tenants.contact]),
          ),
        )
        .orderBy(...byCreated(tenants))
        .limit(part.limit),
    (row) => [row.micros, row.id],
    tenantRecord,
  );
}
