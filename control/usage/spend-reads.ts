/** Spend by day and of this month, with the names of tenants and keys (docs/rules/usage-reads.md#months). */
import {
  type DailySpend,
  dailySpendQuerySchema,
  type MonthSpend,
  monthSpendQuerySchema,
} from "../../shared/schema/cost-reads.ts";
import type { VerbContext } from "../kernel/context.ts";
import { parse } from "../kernel/parse.ts";
import { readMonthSpend } from "./analytics/month-spend.ts";
import { readDailySpend } from "./analytics/spend-days.ts";
import type { AnalyticsStore } from "./analytics/store.ts";
import { dailyNamesOf, namesOf, refuseEndpoints } from "./named-reads.ts";

/** GET /costs/daily. Throws 400, 503. */
export async function listDailySpend(
  ctx: VerbContext,
  analytics: AnalyticsStore,
  input: unknown,
): Promise<readonly DailySpend[]> {
  const query = parse(dailySpendQuerySchema, input);
  refuseEndpoints(ctx, query);
  const rows = await readDailySpend(analytics, query, ctx.now().getTime());
  const names = await namesOf(ctx, rows);
  return rows.map((row) => ({ ...row, ...dailyNamesOf(names(row)) }));
}

/** GET /costs/months. Throws 400, 503. */
export async function getMonthSpend(ctx: VerbContext, analytics: AnalyticsStore, input: unknown): Promise<MonthSpend> {
  const query = parse(monthSpendQuerySchema, input);
  refuseEndpoints(ctx, query);
  const spend = await readMonthSpend(analytics, query, ctx.now().getTime());
  const names = await namesOf(ctx, spend.groups);
  return { ...spend, groups: spend.groups.map((row) => ({ ...row, ...dailyNamesOf(names(row)) })) };
}
