/**
 * Registers a model (docs/rules/models.md#fields).
 */
import { GatewayError } from "../../shared/errors.ts";
import { createModelSchema, type Model } from "../../shared/schema/model.ts";
import { modelHealth, models } from "../db/schema/models.ts";
import type { VerbContext, Written } from "../kernel/context.ts";
import { isUniqueViolation } from "../kernel/database-errors.ts";
import { parse } from "../kernel/parse.ts";
import { checkUpstreamAddress } from "../kernel/upstream-address.ts";
import { write } from "../kernel/write.ts";
import { refuseFallbackCycle } from "./fallback-cycle.ts";
import { fieldsOfNew } from "./model-fields.ts";
import { modelRecord } from "./model-record.ts";

/** The model. Throws 400, 409. */
export async function createModel(ctx: VerbContext, input: unknown): Promise<Written<Model>> {
  const body = parse(createModelSchema, input);
  await checkUpstreamAddress(ctx, "api_base", body.api_base ?? "");
  const fields = await fieldsOfNew(ctx, body);
  return await write(ctx, async (tx, journal) => {
    await refuseFallbackCycle(tx, [{ ...fields, model_name: body.model_name }]);
    try {
      const now = ctx.now();
      const [row] = await tx
        .insert(models)
        .values({ ...fields, model_name: body.model_name, created_at: now, updated_at: now, rev: journal.rev })
        .returning();
      if (row === undefined) throw new GatewayError("internal_error");
      // a removed model may have had this name, and requests for it may have been served
      await tx
        .insert(modelHealth)
        .values({ model_id: row.id, next_check_at: now, evidence_from: now, updated_at: now });
      journal.checkIsDue = true;
      journal.audit({
        action: "create_model",
        entityType: "model",
        entityId: row.id,
        detail: { model_name: row.model_name },
      });
      journal.modelChanged(row.model_name);
      return modelRecord({ row, healthStatus: "unknown" });
    } catch (error) {
      if (isUniqueViolation(error))
        throw new GatewayError("already_exists", { value: `model '${body.model_name}'`, param: "model_name" });
      throw error;
    }
  });
}
