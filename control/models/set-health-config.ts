/**
 * Sets how a model is checked; the next check is due at once (docs/rules/models.md#sub-resources,
 * docs/rules/health.md#states).
 */
import { eq } from "drizzle-orm";
import { GatewayError } from "../../shared/errors.ts";
import { healthConfigSchema, type ModelHealthSummary } from "../../shared/schema/model-health.ts";
import { modelHealth, models } from "../db/schema/models.ts";
import { applyHealthConfig } from "../health/configuration-change.ts";
import { healthSummary } from "../health/health-record.ts";
import { changedFields } from "../kernel/changed-fields.ts";
import type { VerbContext, Written } from "../kernel/context.ts";
import { parse, parseId } from "../kernel/parse.ts";
import { write } from "../kernel/write.ts";
import { healthColumns, lockModel } from "./model-record.ts";

/** The model's health summary. Throws 400, 404. */
export async function setHealthConfig(
  ctx: VerbContext,
  id: string,
  input: unknown,
): Promise<Written<ModelHealthSummary>> {
  const modelId = parseId(id);
  const fields = healthColumns(parse(healthConfigSchema, input));
  return await write(ctx, async (tx, journal) => {
    const before = await lockModel(tx, modelId);
    const [known] = await tx.select().from(modelHealth).where(eq(modelHealth.model_id, modelId));
    ctx.judge?.(healthSummary(before.row, known ?? null));
    const now = ctx.now();
    const [row] = await tx
      .update(models)
      .set({ ...fields, rev: journal.rev, updated_at: now })
      .where(eq(models.id, modelId))
      .returning();
    if (row === undefined) throw new GatewayError("not_found");
    await applyHealthConfig(tx, row, now);
    journal.checkIsDue = true;
    const [health] = await tx.select().from(modelHealth).where(eq(modelHealth.model_id, modelId));
    journal.audit({
      action: "update_model_health_config",
      entityType: "model",
      entityId: modelId,
      detail: changedFields(before.row, fields),
    });
    journal.modelChanged(row.model_name);
    return healthSummary(row, health ?? null);
  });
}
