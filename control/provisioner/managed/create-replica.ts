/**
 * Adds a replica: a job that runs already, or one that is about to be submitted under an intent
 * (docs/rules/managed-models.md#intents).
 */
import { GatewayError } from "../../../shared/errors.ts";
import { createReplicaSchema, type ModelReplica } from "../../../shared/schema/model-replica.ts";
import { modelReplicas } from "../../db/schema/managed-models.ts";
import type { VerbContext, Written } from "../../kernel/context.ts";
import { parse, parseId } from "../../kernel/parse.ts";
import { write } from "../../kernel/write.ts";
import { lockModel } from "../../models/model-record.ts";
import { readReplica, refuseTaken } from "./model-replica-record.ts";

/** The replica, in the state `pending`. Throws 400, 404, and 409 for a job or an intent that a replica has already. */
export async function createReplica(ctx: VerbContext, model: string, input: unknown): Promise<Written<ModelReplica>> {
  const modelId = parseId(model);
  const { job_id = null, intent_id = null, port_base } = parse(createReplicaSchema, input);
  return await write(ctx, async (tx, journal) => {
    const { model_name } = (await lockModel(tx, modelId)).row;
    await refuseTaken(tx, { job_id, intent_id });
    const now = ctx.now();
    const [row] = await tx
      .insert(modelReplicas)
      .values({
        model_id: modelId,
        model_name,
        intent_id,
        job_id,
        port_base,
        state: "pending",
        state_since: now,
        created_at: now,
        updated_at: now,
        rev: journal.rev,
      })
      .returning({ id: modelReplicas.id });
    if (row === undefined) throw new GatewayError("internal_error");
    journal.audit({
      action: "create_replica",
      entityType: "model_replica",
      entityId: row.id,
      detail: { model_id: modelId, model_name, intent_id, job_id, port_base },
    });
    return await readReplica(tx, row.id);
  });
}
