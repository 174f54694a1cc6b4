/**
 * Replaces a model's fields; what is omitted keeps its value, its name never changes (decisions §5.1).
 */
import { eq } from "drizzle-orm";
import { GatewayError } from "../../../shared/errors.ts";
import { type Model, updateModelSchema } from "../../../shared/schema/model.ts";
import { models } from "../../db/schema/models.ts";
import { changedFields } from "../changes.ts";
import type { VerbContext, Written } from "../context.ts";
import { fieldError, parse, parseId } from "../parse.ts";
import { checkUpstreamAddress } from "../upstream-address.ts";
import { write } from "../write.ts";
import { fieldsOfUpdate } from "./model-fields.ts";
import { lockModel, modelRecord } from "./model-record.ts";

/** The model. Throws 400, 404. */
export async function updateModel(ctx: VerbContext, id: string, input: unknown): Promise<Written<Model>> {
  const modelId = parseId(id);
  const body = parse(updateModelSchema, input);
  await checkUpstreamAddress(ctx, "api_base", body.api_base);
  return await write(ctx, async (tx, journal) => {
    const before = await lockModel(tx, modelId);
    if (body.model_name !== undefined && body.model_name !== before.row.model_name) {
      throw fieldError("model_name", "cannot be changed; create another model instead");
    }
    const fields = await fieldsOfUpdate(ctx, body, before.row);
    const [row] = await tx
      .update(models)
      .set({ ...fields, rev: journal.rev, updated_at: ctx.now() })
      .where(eq(models.id, modelId))
      .returning();
    if (row === undefined) throw new GatewayError("not_found");
    journal.audit({
      action: "update_model",
      entityType: "model",
      entityId: modelId,
      detail: changedFields(before.row, fields, ["api_key"]),
    });
    journal.model(row.model_name);
    return modelRecord({ row, healthStatus: before.healthStatus });
  });
}
