/**
 * Lists the latest health of every model, by name; not paged (docs/rules/management-api.md#lists).
 */
import { asc, eq } from "drizzle-orm";
import type { ModelHealthSummary } from "../../shared/schema/model-health.ts";
import { modelHealth, models } from "../db/schema/models.ts";
import { shownStatus } from "../db/shown-status.ts";
import type { VerbContext } from "../kernel/context.ts";
import { withDatabaseErrors } from "../kernel/database-errors.ts";
import { healthSummary } from "./health-record.ts";

/** One summary per model. */
export async function listHealth(ctx: VerbContext): Promise<ModelHealthSummary[]> {
  const rows = await withDatabaseErrors(async () =>
    ctx.db
      .select({ model: models, health: modelHealth, status: shownStatus })
      .from(models)
      .leftJoin(modelHealth, eq(modelHealth.model_id, models.id))
      .orderBy(asc(models.model_name)),
  );
  return rows.map(({ model, health, status }) => healthSummary(model, health, status));
}
