/**
 * The request log with the names of tenants and keys; what was deleted has none (decisions §12.3).
 */
import { inArray } from "drizzle-orm";
import { type UsageLog, usageLogsQuerySchema } from "../../../shared/schema/usage.ts";
import type { AnalyticsStore } from "../../analytics/store.ts";
import { readLogs } from "../../analytics/usage-logs.ts";
import { apiKeys, tenants } from "../../db/schema/tenancy.ts";
import type { VerbContext } from "../context.ts";
import { parse } from "../parse.ts";
import { inDatabase } from "../write.ts";

/** One page of rows. Throws 400, 503. */
export async function listLogs(
  ctx: VerbContext,
  analytics: AnalyticsStore,
  input: unknown,
): Promise<readonly UsageLog[]> {
  const rows = await readLogs(analytics, parse(usageLogsQuerySchema, input), ctx.now().getTime());
  if (rows.length === 0) return [];
  const tenantIds = [...new Set(rows.map((row) => row.tenant_id))];
  const keyIds = [...new Set(rows.map((row) => row.key_id))];
  const [tenantRows, keyRows] = await inDatabase(async () => [
    await ctx.db.select({ id: tenants.id, name: tenants.name }).from(tenants).where(inArray(tenants.id, tenantIds)),
    await ctx.db
      .select({ id: apiKeys.id, name: apiKeys.name, prefix: apiKeys.key_prefix })
      .from(apiKeys)
      .where(inArray(apiKeys.id, keyIds)),
  ]);
  const tenantNames = new Map(tenantRows.map((row) => [row.id, row.name]));
  const keys = new Map(keyRows.map((row) => [row.id, row]));
  return rows.map((row) => ({
    ...row,
    tenant_name: tenantNames.get(row.tenant_id) ?? "",
    key_name: keys.get(row.key_id)?.name ?? "",
    key_prefix: keys.get(row.key_id)?.prefix ?? "",
  }));
}
