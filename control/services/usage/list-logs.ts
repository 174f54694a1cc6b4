/**
 * The request log with the names of tenants and keys.
 */
import { type UsageLog, usageLogsQuerySchema } from "../../../shared/schema/usage.ts";
import type { AnalyticsStore } from "../../analytics/store.ts";
import { readLogs } from "../../analytics/usage-logs.ts";
import type { VerbContext } from "../../kernel/context.ts";
import { parse } from "../../kernel/parse.ts";
import { namesOf } from "./names-of.ts";

/** One page of rows. Throws 400, 503. */
export async function listLogs(
  ctx: VerbContext,
  analytics: AnalyticsStore,
  input: unknown,
): Promise<readonly UsageLog[]> {
  const rows = await readLogs(analytics, parse(usageLogsQuerySchema, input), ctx.now().getTime());
  const names = await namesOf(ctx, rows);
  return rows.map((row) => {
    const { tenant_name, key_name, key_prefix } = names(row);
    return { ...row, tenant_name, key_name, key_prefix };
  });
}
