/** Usage reads with the names of tenants and keys; deleted ones have no name (docs/rules/usage-reads.md#names). */

import { inArray } from "drizzle-orm";
import { type UsageLog, usageLogsQuerySchema } from "../../../shared/schema/usage.ts";
import { type UsageBreakdown, usageBreakdownQuerySchema } from "../../../shared/schema/usage-reads.ts";
import type { AnalyticsStore } from "../../analytics/store.ts";
import { type LedgerRow, readLogs } from "../../analytics/usage-logs.ts";
import { readBreakdown } from "../../analytics/usage-totals.ts";
import { apiKeys, tenants } from "../../db/schema/tenancy.ts";
import type { VerbContext } from "../../kernel/context.ts";
import { withDatabaseErrors } from "../../kernel/database-errors.ts";
import { parse } from "../../kernel/parse.ts";

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
  return rows.map((row) => ({ ...row, ...names(row) }));
}

interface Named {
  readonly tenant_name: string;
  readonly fairshare_group: string;
  readonly key_name: string;
  readonly key_prefix: string;
}

/** The names of each row. Throws 503. */
async function namesOf(
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
