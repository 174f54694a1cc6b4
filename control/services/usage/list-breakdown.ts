/**
 * What each key spent on each model, with names.
 */
import { type UsageBreakdown, usageBreakdownQuerySchema } from "../../../shared/schema/usage-reads.ts";
import type { AnalyticsStore } from "../../analytics/store.ts";
import { readBreakdown } from "../../analytics/usage-totals.ts";
import type { VerbContext } from "../../kernel/context.ts";
import { parse } from "../../kernel/parse.ts";
import { namesOf } from "./names-of.ts";

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
