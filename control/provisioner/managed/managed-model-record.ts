/** A managed model's spec as the Management API shows it, with what its model and its replicas add. */
import { and, eq, getTableColumns, inArray, sql } from "drizzle-orm";
import { GatewayError } from "../../../shared/errors.ts";
import { MODEL_REPLICA_FIELDS } from "../../../shared/fields/model-replica-fields.ts";
import { type ManagedModel, managedModelSchema } from "../../../shared/schema/managed-model.ts";
import type { Database, Transaction } from "../../db/connect.ts";
import { type ManagedModelRow, managedModels, modelReplicas } from "../../db/schema/managed-models.ts";
import { models } from "../../db/schema/models.ts";
import { withIsoTimes } from "../../kernel/iso-times.ts";

/** A spec's columns, and those of its model that a record shows. */
export const managedModelColumns = {
  ...getTableColumns(managedModels),
  model_name: models.model_name,
  model_type: models.model_type,
  upstream_model: models.upstream_model,
};

type SpecWithModel = ManagedModelRow & {
  readonly model_name: string;
  readonly model_type: string;
  readonly upstream_model: string;
};

/** How many replicas of a model are in each state. */
type StateCounts = ManagedModel["replicas"];

/** The record of a row. */
export function managedModelRecord(row: SpecWithModel, replicas: StateCounts): ManagedModel {
  return managedModelSchema.parse({ ...withIsoTimes(row), replicas });
}

/** The counts of these models; a model without replicas has only zeros. */
export async function replicaCounts(
  db: Database | Transaction,
  modelIds: readonly string[],
): Promise<(modelId: string) => StateCounts> {
  const rows =
    modelIds.length === 0
      ? []
      : await db
          .select({ id: modelReplicas.model_id, state: modelReplicas.state, count: sql<number>`count(*)::int` })
          .from(modelReplicas)
          .where(inArray(modelReplicas.model_id, [...modelIds]))
          .groupBy(modelReplicas.model_id, modelReplicas.state);
  return (modelId) => {
    const own = rows.filter(({ id }) => id === modelId);
    const count = (state: string): number => own.find((row) => row.state === state)?.count ?? 0;
    return Object.fromEntries(
      MODEL_REPLICA_FIELDS.state.value.options.map((state) => [state, count(state)]),
    ) as StateCounts;
  };
}

/** The spec of a model as a record. Throws 404 when the model has none, or does not exist. */
export async function readManagedModel(db: Database | Transaction, modelId: string): Promise<ManagedModel> {
  const [row] = await db
    .select(managedModelColumns)
    .from(managedModels)
    .innerJoin(models, eq(models.id, managedModels.model_id))
    .where(and(eq(managedModels.model_id, modelId)));
  if (row === undefined) throw new GatewayError("not_found");
  return managedModelRecord(row, (await replicaCounts(db, [modelId]))(modelId));
}
