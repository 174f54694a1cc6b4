/**
 * The overview: what is configured, and what was used lately. Without the analytics store its totals are zero and
 * everything else is still answered (docs/rules/usage-reads.md#overview).
 */
import { and, count, eq, gt, isNull, lte, or, type SQL } from "drizzle-orm";
import type { PgColumn, PgTable } from "drizzle-orm/pg-core";
import { GatewayError } from "../../shared/errors.ts";
import { type Overview, overviewQuerySchema } from "../../shared/schema/usage-reads.ts";
import { modelHealth, models } from "../db/schema/models.ts";
import { apiKeys, tenants } from "../db/schema/tenancy.ts";
import { shownStatus } from "../db/shown-status.ts";
import type { VerbContext } from "../kernel/context.ts";
import { withDatabaseErrors } from "../kernel/database-errors.ts";
import { parse } from "../kernel/parse.ts";
import type { AnalyticsStore } from "./analytics/store.ts";
import { readOverviewTotals } from "./analytics/usage-costs.ts";

const PRICES: readonly PgColumn[] = [
  models.input_cost_per_token,
  models.output_cost_per_token,
  models.cost_per_image,
  models.cost_per_character,
  models.cost_per_audio_second,
  models.cached_input_cost_per_token,
  models.reasoning_output_cost_per_token,
  models.cache_write_cost_per_token,
  models.audio_input_cost_per_token,
  models.audio_output_cost_per_token,
  models.image_input_cost_per_token,
  models.image_output_cost_per_token,
  models.input_cost_per_second,
];

/** Throws 400, 503 `database_unavailable`. */
export async function getOverview(ctx: VerbContext, analytics: AnalyticsStore, input: unknown): Promise<Overview> {
  const query = parse(overviewQuerySchema, input);
  const totals = await readOverviewTotals(analytics, query, ctx.now().getTime()).catch((error: unknown) => {
    if (error instanceof GatewayError && error.code === "analytics_unavailable")
      return { requests: 0, tokens: 0, cost: 0 };
    throw error;
  });
  const countOf = async (table: PgTable, where?: SQL): Promise<number> => {
    const [row] = await ctx.db.select({ n: count() }).from(table).where(where);
    return row?.n ?? 0;
  };
  return await withDatabaseErrors(async () => ({
    ...totals,
    has_pricing: (await countOf(models, or(...PRICES.map((price) => gt(price, 0))))) > 0,
    tenant_count: await countOf(tenants),
    active_tenants: await countOf(tenants, eq(tenants.status, "active")),
    model_count: await countOf(models),
    enabled_models: await countOf(models, eq(models.enabled, true)),
    down_models: await downModels(ctx),
    key_count: await countOf(apiKeys),
  }));
}

/** Models in use that the list of models shows as down. */
async function downModels({ db, now }: VerbContext): Promise<number> {
  const until = models.health_maintenance_until;
  const isAttended = or(isNull(until), lte(until, now()));
  const [row] = await db
    .select({ n: count() })
    .from(models)
    .leftJoin(modelHealth, eq(modelHealth.model_id, models.id))
    .where(and(eq(models.enabled, true), isAttended, eq(shownStatus, "unhealthy")));
  return row?.n ?? 0;
}
