/**
 * Removes replicas from the list, with the endpoints that lead to them: one replica, or all lost ones of a model
 * (docs/rules/managed-models.md#removing-replicas). A job is not cancelled here: the provisioner cancels those that no
 * replica names any more.
 */
import { and, eq, inArray, or, sql } from "drizzle-orm";
import type { Transaction } from "../../db/connect.ts";
import { modelEndpoints } from "../../db/schema/endpoints.ts";
import { type ModelReplicaRow, modelReplicas } from "../../db/schema/managed-models.ts";
import type { VerbContext, Written } from "../../kernel/context.ts";
import { parseId } from "../../kernel/parse.ts";
import { write } from "../../kernel/write.ts";
import type { WriteJournal } from "../../kernel/write-journal.ts";
import { touchModel } from "../../models/endpoints/endpoint-record.ts";
import { lockModel } from "../../models/model-record.ts";
import { lockReplica, readReplica } from "./model-replica-record.ts";

/** Throws 404. */
export async function deleteReplica(ctx: VerbContext, id: string): Promise<Written<null>> {
  const replicaId = parseId(id);
  return await write(ctx, async (tx, journal) => {
    const row = await lockReplica(tx, replicaId);
    ctx.checkRecord?.(await readReplica(tx, replicaId));
    await remove(tx, journal, [row]);
    journal.audit({
      action: "delete_replica",
      entityType: "model_replica",
      entityId: replicaId,
      detail: { model_name: row.model_name, job_id: row.job_id, state: row.state },
    });
    return null;
  });
}

/** How many lost replicas were removed; with them the count of failures starts again. Throws 404. */
export async function clearLostReplicas(
  ctx: VerbContext,
  model: string,
): Promise<Written<{ readonly removed: number }>> {
  const modelId = parseId(model);
  return await write(ctx, async (tx, journal) => {
    const { model_name } = (await lockModel(tx, modelId)).row;
    const lost = await tx
      .select()
      .from(modelReplicas)
      .where(and(eq(modelReplicas.model_id, modelId), eq(modelReplicas.state, "lost")))
      .for("update");
    await remove(tx, journal, lost);
    journal.audit({
      action: "clear_lost_replicas",
      entityType: "managed_model",
      entityId: modelId,
      detail: { model_name, removed: lost.length },
    });
    return { removed: lost.length };
  });
}

async function remove(tx: Transaction, journal: WriteJournal, rows: readonly ModelReplicaRow[]): Promise<void> {
  const ids = rows.map(({ id }) => id);
  if (ids.length === 0) return;
  await tx.delete(modelReplicas).where(inArray(modelReplicas.id, ids));
  const endpoints = rows.flatMap(({ endpoint_id }) => (endpoint_id === null ? [] : [endpoint_id]));
  const models = rows.flatMap(({ model_id }) => (model_id === null ? [] : [model_id]));
  // a provisioner that dies between making an endpoint and saying so leaves one that only its name connects with the row
  const isNamed = and(
    inArray(modelEndpoints.model_id, models),
    inArray(
      sql`right(${modelEndpoints.name}, 37)`,
      ids.map((id) => `-${id}`),
    ),
  );
  const leading = or(inArray(modelEndpoints.id, endpoints), isNamed);
  await tx
    .update(modelReplicas)
    .set({ endpoint_id: null, rev: journal.rev })
    .where(
      inArray(modelReplicas.endpoint_id, tx.select({ id: modelEndpoints.id }).from(modelEndpoints).where(leading)),
    );
  const removed = await tx
    .delete(modelEndpoints)
    .where(leading)
    .returning({ id: modelEndpoints.id, modelId: modelEndpoints.model_id, name: modelEndpoints.name });
  for (const { id, modelId, name } of removed)
    journal.audit({
      action: "delete_model_endpoint",
      entityType: "model_endpoint",
      entityId: id,
      detail: { model_id: modelId, name },
    });
  for (const modelId of new Set(removed.map((row) => row.modelId))) await touchModel(tx, journal, modelId);
}
