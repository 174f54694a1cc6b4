/** Usage reads with the names of tenants and keys, also of deleted ones (docs/rules/usage-reads.md#names). */

import { eq, inArray, sql } from "drizzle-orm";
import { alias } from "drizzle-orm/pg-core";
import { type UsageLog, usageLogsQuerySchema } from "../../shared/schema/usage.ts";
import {
  type DailyUsage,
  type UsageBreakdown,
  usageBreakdownQuerySchema,
  usageDailyQuerySchema,
} from "../../shared/schema/usage-reads.ts";
import { NIL_UUID } from "../../shared/usage/usage-row.ts";
import { apiKeys, deletedNames, tenants } from "../db/schema/tenancy.ts";
import type { VerbContext } from "../kernel/context.ts";
import { withDatabaseErrors } from "../kernel/database-errors.ts";
import { parse, refuseIfAny } from "../kernel/parse.ts";
import type { AnalyticsStore } from "./analytics/store.ts";
import { readDaily } from "./analytics/usage-daily.ts";
import { type LedgerRow, readLogs } from "./analytics/usage-logs.ts";
import { readBreakdown } from "./analytics/usage-totals.ts";

/** One page of rows. Throws 400, 503. */
export async function listLogs(
  ctx: VerbContext,
  analytics: AnalyticsStore,
  input: unknown,
): Promise<readonly UsageLog[]> {
  const rows = await readLogs(analytics, parse(usageLogsQuerySchema, input), ctx.now().getTime());
  return await withNames(ctx, rows);
}

/** The most rows that a page of the log is read with. */
const PAGE_ROWS = 200;

/**
 * As many rows as a query's limit says, without a limit all of its period, newest first, page by page. All pages are of the
 * period as it was when the first one was read. Throws 400, 503.
 */
export async function* logPages(
  ctx: VerbContext,
  analytics: AnalyticsStore,
  input: unknown,
): AsyncGenerator<readonly UsageLog[]> {
  const query = parse(usageLogsQuerySchema, input);
  const nowMs = ctx.now().getTime();
  let left = query.limit ?? Number.POSITIVE_INFINITY;
  for (let cursor = {}; left > 0; ) {
    const limit = Math.min(left, PAGE_ROWS);
    const rows = await readLogs(analytics, { ...query, ...cursor, limit }, nowMs);
    yield await withNames(ctx, rows);
    const last = rows.at(-1);
    if (last === undefined || rows.length < limit) return;
    left -= rows.length;
    cursor = { before_ms: last.ts_ms, before_request_id: last.request_id };
  }
}

/** Rows of the ledger with the names of their tenants and keys. Throws 503. */
export async function withNames(ctx: VerbContext, rows: readonly LedgerRow[]): Promise<readonly UsageLog[]> {
  const names = await namesOf(ctx, rows);
  return rows.map((row) => {
    const { tenant_name, key_name, key_prefix } = names(row);
    return { ...row, tenant_name, key_name, key_prefix };
  });
}

/** Most expensive first. Throws 400, 503. */
export async function listBreakdown(
  ctx: VerbContext,
  analytics: AnalyticsStore,
  input: unknown,
): Promise<readonly UsageBreakdown[]> {
  const rows = await readBreakdown(analytics, parse(usageBreakdownQuerySchema, input), ctx.now().getTime());
  const names = await namesOf(ctx, rows);
  return rows.map((row) => {
    const { tenant_of_key: _, ...named } = names(row);
    return { ...row, ...named };
  });
}

/** GET /usage/daily; a row of a key has the name of the key's tenant too. Throws 400, 503. */
export async function listDaily(
  ctx: VerbContext,
  analytics: AnalyticsStore,
  input: unknown,
): Promise<readonly DailyUsage[]> {
  const query = parse(usageDailyQuerySchema, input);
  refuseEndpoints(ctx, query);
  const rows = await readDaily(analytics, query, ctx.now().getTime());
  const names = await namesOf(ctx, rows);
  return rows.map((row) => ({ ...row, ...dailyNamesOf(names(row)) }));
}

/** Throws 400 when a tenant's user asks for endpoints: where a model runs is not theirs to see. */
export function refuseEndpoints({ isForUser }: VerbContext, { group_by }: { readonly group_by: string }): void {
  refuseIfAny(
    isForUser === true && group_by === "endpoint" ? [{ path: "group_by", message: "endpoint is for admins" }] : [],
  );
}

/** A row of a key has the name of the key's tenant. */
export const dailyNamesOf = ({ tenant_name, key_name, key_prefix, tenant_of_key }: Named) => ({
  tenant_name: tenant_name === "" ? tenant_of_key : tenant_name,
  key_name,
  key_prefix,
});

interface Named {
  readonly tenant_name: string;
  readonly fairshare_group: string;
  readonly key_name: string;
  readonly key_prefix: string;
  /** The name of the tenant that the key belongs to. */
  readonly tenant_of_key: string;
}

/** The names of each row. Throws 503. */
export async function namesOf(
  ctx: VerbContext,
  rows: readonly { readonly tenant_id: string; readonly key_id: string }[],
): Promise<(row: { readonly tenant_id: string; readonly key_id: string }) => Named> {
  const [tenantRows, keyRows] = await withDatabaseErrors(async () => [
    await inParts(
      rows.map((row) => row.tenant_id),
      async (ids) =>
        await ctx.db
          .select({ id: tenants.id, name: tenants.name, group: tenants.fairshare_group })
          .from(tenants)
          .where(inArray(tenants.id, ids)),
    ),
    await inParts(
      rows.map((row) => row.key_id),
      async (ids) =>
        await ctx.db
          .select({ id: apiKeys.id, name: apiKeys.name, prefix: apiKeys.key_prefix, tenant: tenants.name })
          .from(apiKeys)
          .innerJoin(tenants, eq(tenants.id, apiKeys.tenant_id))
          .where(inArray(apiKeys.id, ids)),
    ),
  ]);
  const live = new Set([...tenantRows, ...keyRows].map(({ id }) => id));
  const deletedRows = await withDatabaseErrors(
    async () =>
      await inParts(
        rows.flatMap((row) => [row.tenant_id, row.key_id]).filter((id) => !live.has(id)),
        async (ids) => await deletedNamesOf(ctx, ids),
      ),
  );
  const byTenant = new Map([...deletedRows, ...tenantRows].map((row) => [row.id, row]));
  const byKey = new Map([...deletedRows, ...keyRows].map((row) => [row.id, row]));
  return (row) => ({
    tenant_name: byTenant.get(row.tenant_id)?.name ?? "",
    fairshare_group: byTenant.get(row.tenant_id)?.group ?? "",
    key_name: byKey.get(row.key_id)?.name ?? "",
    key_prefix: byKey.get(row.key_id)?.prefix ?? "",
    tenant_of_key: byKey.get(row.key_id)?.tenant ?? "",
  });
}

/** Deleted tenants and keys, in the form of live ones; a deleted tenant has left its group. */
async function deletedNamesOf(ctx: VerbContext, ids: string[]) {
  const tenantOfKey = alias(deletedNames, "tenant_of_key");
  return await ctx.db
    .select({
      id: deletedNames.id,
      name: deletedNames.name,
      prefix: deletedNames.key_prefix,
      group: sql<string>`''`,
      tenant: sql<string>`coalesce(${tenants.name}, ${tenantOfKey.name}, '')`,
    })
    .from(deletedNames)
    .leftJoin(tenants, eq(tenants.id, deletedNames.tenant_id))
    .leftJoin(tenantOfKey, eq(tenantOfKey.id, deletedNames.tenant_id))
    .where(inArray(deletedNames.id, ids));
}

/** A statement takes 65,535 parameters at most; a report by key can have more keys. */
const IDS_PER_STATEMENT = 10_000;

/** What is read of all these ids, each once; the nil id is nobody's. */
async function inParts<T>(
  ids: readonly string[],
  read: (part: string[]) => Promise<readonly T[]>,
): Promise<readonly T[]> {
  const wanted = [...new Set(ids)].filter((id) => id !== NIL_UUID);
  const found: T[] = [];
  for (let at = 0; at < wanted.length; at += IDS_PER_STATEMENT)
    found.push(...(await read(wanted.slice(at, at + IDS_PER_STATEMENT))));
  return found;
}
