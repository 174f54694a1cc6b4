/**
 * Reads a model's latest health and its recent checks (docs/rules/health.md#records).
 */
import { and, desc, eq, getTableColumns, isNotNull, isNull } from "drizzle-orm";
import { GatewayError } from "../../shared/errors.ts";
import { type ModelHealthDetail, modelHealthDetailSchema } from "../../shared/schema/model-health.ts";
import { modelEndpoints } from "../db/schema/endpoints.ts";
import { modelHealth, modelHealthChecks, models } from "../db/schema/models.ts";
import { shownStatus } from "../db/shown-status.ts";
import type { VerbContext } from "../kernel/context.ts";
import { withDatabaseErrors } from "../kernel/database-errors.ts";
import { parseId } from "../kernel/parse.ts";
import { healthSummary } from "./health-record.ts";

const CHECKS_SHOWN = 50;

/** The summary, the checks of the model itself, and those of its endpoints. Throws 404. */
export async function getHealth(ctx: VerbContext, id: string): Promise<ModelHealthDetail> {
  const modelId = parseId(id);
  return await withDatabaseErrors(async () => {
    const checks = await ctx.db
      .select()
      .from(modelHealthChecks)
      .where(and(eq(modelHealthChecks.model_id, modelId), isNull(modelHealthChecks.endpoint_id)))
      .orderBy(desc(modelHealthChecks.checked_at), desc(modelHealthChecks.id))
      .limit(CHECKS_SHOWN);
    const ofEndpoints = await ctx.db
      .select({ ...getTableColumns(modelHealthChecks), endpoint_name: modelEndpoints.name })
      .from(modelHealthChecks)
      .leftJoin(modelEndpoints, eq(modelEndpoints.id, modelHealthChecks.endpoint_id))
      .where(and(eq(modelHealthChecks.model_id, modelId), isNotNull(modelHealthChecks.endpoint_id)))
      .orderBy(desc(modelHealthChecks.checked_at), desc(modelHealthChecks.id))
      .limit(CHECKS_SHOWN);
    // last: it knows of every check that was read before it
    const [found] = await ctx.db
      .select({ model: models, health: modelHealth, status: shownStatus })
      .from(models)
      .leftJoin(modelHealth, eq(modelHealth.model_id, models.id))
      .where(eq(models.id, modelId));
    if (found === undefined) throw new GatewayError("not_found");
    const shown = <T extends { readonly checked_at: Date }>(check: T) => ({
      ...check,
      checked_at: check.checked_at.toISOString(),
    });
    return modelHealthDetailSchema.parse({
      summary: healthSummary(found.model, found.health, found.status),
      checks: checks.map(shown),
      endpoint_checks: ofEndpoints.map(shown),
    });
  });
}
