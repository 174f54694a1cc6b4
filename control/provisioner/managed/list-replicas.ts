/** Lists replicas, all or those of one model (docs/rules/managed-models.md#replica-fields). */
import { and, eq } from "drizzle-orm";
import { type ModelReplica, replicaFilterSchema } from "../../../shared/schema/model-replica.ts";
import { modelEndpoints } from "../../db/schema/endpoints.ts";
import { modelReplicas } from "../../db/schema/managed-models.ts";
import type { Page, VerbContext } from "../../kernel/context.ts";
import { afterCreated, byCreated, createdMicros, parseFiltered, readPage } from "../../kernel/paging.ts";
import { getModel } from "../../models/read-models.ts";
import { replicaColumns, replicaRecord } from "./model-replica-record.ts";

/** One page, the oldest first. Throws 400. */
export async function listReplicas({ db }: VerbContext, query: unknown): Promise<Page<ModelReplica>> {
  const { page, filter } = parseFiltered(replicaFilterSchema, query);
  return await readPage(
    page,
    (part) =>
      db
        .select({ ...replicaColumns, micros: createdMicros(modelReplicas.created_at) })
        .from(modelReplicas)
        .leftJoin(modelEndpoints, eq(modelEndpoints.id, modelReplicas.endpoint_id))
        .where(
          and(
            afterCreated(modelReplicas, part),
            filter.model_id === undefined ? undefined : eq(modelReplicas.model_id, filter.model_id),
            filter.state === undefined ? undefined : eq(modelReplicas.state, filter.state),
          ),
        )
        .orderBy(...byCreated(modelReplicas))
        .limit(part.limit),
    (row) => [row.micros, row.replica.id],
    replicaRecord,
  );
}

/** One page of a model's replicas. Throws 400, 404. */
export async function listModelReplicas(ctx: VerbContext, model: string, query: object): Promise<Page<ModelReplica>> {
  const { id } = await getModel(ctx, model);
  return await listReplicas(ctx, { ...query, model_id: id });
}
