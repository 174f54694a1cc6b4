/**
 * Deletes a model and its endpoints. Its replicas are unlinked, and the provisioner stops them. Once the cells know, requests for
 * the model get 404.
 */
import { eq } from "drizzle-orm";
import { modelReplicas } from "../db/schema/managed-models.ts";
import { models } from "../db/schema/models.ts";
import type { VerbContext, Written } from "../kernel/context.ts";
import { parseId } from "../kernel/parse.ts";
import { write } from "../kernel/write.ts";
import { lockModel, modelRecord } from "./model-record.ts";

/** Throws 404. */
export async function deleteModel(ctx: VerbContext, id: string): Promise<Written<null>> {
  const modelId = parseId(id);
  return await write(ctx, async (tx, journal) => {
    const before = await lockModel(tx, modelId);
    ctx.checkRecord?.(modelRecord(before));
    const { row } = before;
    await tx
      .update(modelReplicas)
      .set({ model_id: null, endpoint_id: null, rev: journal.rev })
      .where(eq(modelReplicas.model_id, modelId));
    await tx.delete(models).where(eq(models.id, modelId));
    journal.audit({
      action: "delete_model",
      entityType: "model",
      entityId: modelId,
      detail: { model_name: row.model_name },
    });
    journal.modelChanged(row.model_name);
    return null;
  });
}
