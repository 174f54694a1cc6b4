/**
 * Removes an endpoint of a model; the next request of that model goes elsewhere.
 */
import { eq } from "drizzle-orm";
import { modelEndpoints } from "../../db/schema/endpoints.ts";
import { modelReplicas } from "../../db/schema/managed-models.ts";
import type { VerbContext, Written } from "../../kernel/context.ts";
import { parseId } from "../../kernel/parse.ts";
import { write } from "../../kernel/write.ts";
import { endpointRecord, lockEndpoint, touchModel } from "./endpoint-record.ts";

/** Throws 404. */
export async function deleteEndpoint(ctx: VerbContext, model: string, id: string): Promise<Written<null>> {
  const [modelId, endpointId] = [parseId(model), parseId(id)];
  return await write(ctx, async (tx, journal) => {
    const { endpoint } = await lockEndpoint(tx, modelId, endpointId);
    ctx.checkRecord?.(endpointRecord(endpoint));
    const { name } = endpoint;
    await tx
      .update(modelReplicas)
      .set({ endpoint_id: null, rev: journal.rev })
      .where(eq(modelReplicas.endpoint_id, endpointId));
    await tx.delete(modelEndpoints).where(eq(modelEndpoints.id, endpointId));
    journal.audit({
      action: "delete_model_endpoint",
      entityType: "model_endpoint",
      entityId: endpointId,
      detail: { model_id: modelId, name },
    });
    await touchModel(tx, journal, modelId);
    return null;
  });
}
