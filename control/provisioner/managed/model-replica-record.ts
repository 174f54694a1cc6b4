/** A replica's row as the Management API shows it, and the lock on the row for a write. */
import { and, eq, getTableColumns, ne, type SQL } from "drizzle-orm";
import { GatewayError } from "../../../shared/errors.ts";
import { type ModelReplica, modelReplicaSchema } from "../../../shared/schema/model-replica.ts";
import type { Database, Transaction } from "../../db/connect.ts";
import { modelEndpoints } from "../../db/schema/endpoints.ts";
import { type ModelReplicaRow, modelReplicas } from "../../db/schema/managed-models.ts";
import { withIsoTimes } from "../../kernel/iso-times.ts";

/** A replica's columns, and those of its endpoint that a record shows. */
export const replicaColumns = {
  replica: getTableColumns(modelReplicas),
  endpoint: {
    api_base: modelEndpoints.api_base,
    enabled: modelEndpoints.enabled,
    health_status: modelEndpoints.health_status,
    consecutive_failures: modelEndpoints.consecutive_failures,
    last_checked_at: modelEndpoints.last_checked_at,
  },
};

interface ReplicaWithEndpoint {
  readonly replica: ModelReplicaRow;
  readonly endpoint: {
    readonly api_base: string;
    readonly enabled: boolean;
    readonly health_status: string;
    readonly consecutive_failures: number;
    readonly last_checked_at: Date | null;
  } | null;
}

/** The record of a row. */
export function replicaRecord({ replica, endpoint }: ReplicaWithEndpoint): ModelReplica {
  return modelReplicaSchema.parse({
    ...withIsoTimes(replica),
    endpoint: endpoint === null ? null : withIsoTimes(endpoint),
  });
}

/** A replica as a record. Throws 404. */
export async function readReplica(db: Database | Transaction, id: string): Promise<ModelReplica> {
  const [row] = await db
    .select(replicaColumns)
    .from(modelReplicas)
    .leftJoin(modelEndpoints, eq(modelEndpoints.id, modelReplicas.endpoint_id))
    .where(eq(modelReplicas.id, id));
  if (row === undefined) throw new GatewayError("not_found");
  return replicaRecord(row);
}

/**
 * Refuses a job or an intent that a replica has already; a lost replica's job is no obstacle
 * (docs/rules/managed-models.md#intents). Within a write nobody else can add one meanwhile. Throws 409 that names the field.
 */
export async function refuseTaken(
  tx: Transaction,
  ids: { readonly job_id?: string | null; readonly intent_id?: string | null },
): Promise<void> {
  const { job_id = null, intent_id = null } = ids;
  const refuse = async (param: keyof typeof ids, what: string, taken: SQL | undefined): Promise<void> => {
    if ((await tx.$count(modelReplicas, taken)) > 0)
      throw new GatewayError("already_exists", { value: `a replica with ${what}`, param });
  };
  if (job_id !== null)
    await refuse("job_id", `job '${job_id}'`, and(eq(modelReplicas.job_id, job_id), ne(modelReplicas.state, "lost")));
  if (intent_id !== null) await refuse("intent_id", `intent '${intent_id}'`, eq(modelReplicas.intent_id, intent_id));
}

/** The row, locked until the transaction ends. Throws 404. */
export async function lockReplica(tx: Transaction, id: string): Promise<ModelReplicaRow> {
  const [row] = await tx.select().from(modelReplicas).where(eq(modelReplicas.id, id)).for("update");
  if (row === undefined) throw new GatewayError("not_found");
  return row;
}
