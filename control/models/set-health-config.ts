/**
 * Sets how a model is checked; the next check is due at once (docs/rules/models.md#sub-resources,
 * docs/rules/health.md#states).
 */
import { eq } from "drizzle-orm";
import { healthConfigSchema, type ModelHealthSummary } from "../../shared/schema/model-health.ts";
import { modelHealth } from "../db/schema/models.ts";
import { healthSummary } from "../health/health-record.ts";
import type { VerbContext, Written } from "../kernel/context.ts";
import { parse, parseId } from "../kernel/parse.ts";
import { write } from "../kernel/write.ts";
import { changeModel } from "./change-model.ts";
import { lockModel } from "./model-record.ts";

/** The model's health summary. Throws 400, 404. */
export async function setHealthConfig(
  ctx: VerbContext,
  id: string,
  input: unknown,
): Promise<Written<ModelHealthSummary>> {
  const modelId = parseId(id);
  const health = parse(healthConfigSchema, input);
  return await write(ctx, async (tx, journal) => {
    const known = async () => (await tx.select().from(modelHealth).where(eq(modelHealth.model_id, modelId)))[0] ?? null;
    const { checkRecord, ...unchecked } = ctx;
    checkRecord?.(healthSummary((await lockModel(tx, modelId)).row, await known()));
    const change = { tx, journal, id: modelId, fields: { health }, action: "update_model_health_config" };
    const { after } = await changeModel(unchecked, change);
    return healthSummary(after.row, await known());
  });
}
