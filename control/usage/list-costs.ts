/**
 * Spend per model. The amount is the sum of the costs that were frozen per request, and never changes with prices. The
 * split by input and output uses current prices and is for information only (docs/rules/usage-reads.md#money).
 */
import { inArray } from "drizzle-orm";
import { roundUsd } from "../../shared/money/usd.ts";
import { costsQuerySchema, type ModelCost } from "../../shared/schema/cost-reads.ts";
import { models } from "../db/schema/models.ts";
import type { VerbContext } from "../kernel/context.ts";
import { withDatabaseErrors } from "../kernel/database-errors.ts";
import { parse } from "../kernel/parse.ts";
import type { AnalyticsStore } from "./analytics/store.ts";
import { readCosts } from "./analytics/usage-costs.ts";

/** Most expensive first. Throws 400, 503. */
export async function listCosts(
  ctx: VerbContext,
  analytics: AnalyticsStore,
  input: unknown,
): Promise<readonly ModelCost[]> {
  const rows = await readCosts(analytics, parse(costsQuerySchema, input), ctx.now().getTime());
  if (rows.length === 0) return [];
  const names = rows.map((row) => row.model);
  const priced = await withDatabaseErrors(
    async () =>
      await ctx.db
        .select({
          name: models.model_name,
          input: models.input_cost_per_token,
          output: models.output_cost_per_token,
        })
        .from(models)
        .where(inArray(models.model_name, names)),
  );
  const prices = new Map(priced.map((row) => [row.name, row]));
  return rows.map((row) => ({
    ...row,
    input_cost: roundUsd(row.input_tokens * (prices.get(row.model)?.input ?? 0)),
    output_cost: roundUsd(row.output_tokens * (prices.get(row.model)?.output ?? 0)),
  }));
}
