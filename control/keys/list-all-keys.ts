/**
 * Lists keys of all tenants, the newest first, by tenant, state and a part of name or prefix
 * (docs/rules/keys.md#lists).
 */
import { and, getTableColumns, not, sql } from "drizzle-orm";
import { allKeysFilterSchema, type ListedKey } from "../../shared/schema/api-key.ts";
import { apiKeys, tenants } from "../db/schema/tenancy.ts";
import type { Page, VerbContext } from "../kernel/context.ts";
import { beforeCreated, byNewest, createdMicros, newestWithin, parseFiltered, readPage } from "../kernel/paging.ts";
import { containing } from "../kernel/search.ts";
import { keyRecord } from "./key-record.ts";

/** A subquery for each row of the page, so that the planner cannot choose a join over all keys. */
const ofTenant = <T extends string>(column: typeof tenants.name | typeof tenants.status) =>
  sql<T>`(SELECT ${column} FROM ${tenants} WHERE ${tenants.id} = ${apiKeys.tenant_id})`;

/** One page. Throws 400. */
export async function listAllKeys(ctx: VerbContext, query: unknown): Promise<Page<ListedKey>> {
  const { page, filter } = parseFiltered(allKeysFilterSchema, query);
  const { tenant_id, disabled, q } = filter;
  return await readPage(
    page,
    (part) => {
      const { where, orderBy } =
        tenant_id === undefined
          ? { where: beforeCreated(apiKeys, part), orderBy: byNewest(apiKeys) }
          : newestWithin(apiKeys.tenant_id, tenant_id, apiKeys, part);
      return ctx.db
        .select({
          ...getTableColumns(apiKeys),
          tenant_name: ofTenant(tenants.name),
          tenant_status: ofTenant<ListedKey["tenant_status"]>(tenants.status),
          micros: createdMicros(apiKeys.created_at),
        })
        .from(apiKeys)
        .where(
          and(
            where,
            disabled === undefined ? undefined : disabled === "true" ? sql`${apiKeys.disabled}` : not(apiKeys.disabled),
            containing(q, [apiKeys.name, apiKeys.key_prefix]),
          ),
        )
        .orderBy(...orderBy)
        .limit(part.limit);
    },
    (row) => [row.micros, row.id],
    (row) => ({ ...keyRecord(row), tenant_name: row.tenant_name, tenant_status: row.tenant_status }),
  );
}
