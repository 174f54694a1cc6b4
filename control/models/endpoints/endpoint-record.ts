/**
 * An endpoint's row as the Management API shows it, without its credential; and the lock on the row for a write, after the
 * lock on its model's row.
 */
import { and, eq } from "drizzle-orm";
import { GatewayError } from "../../../shared/errors.ts";
import { type ModelEndpoint, modelEndpointSchema } from "../../../shared/schema/model-endpoint.ts";
import type { Transaction } from "../../db/connect.ts";
import { type EndpointRow, modelEndpoints } from "../../db/schema/endpoints.ts";
import { type ModelRow, models } from "../../db/schema/models.ts";
import { withIsoTimes } from "../../kernel/iso-times.ts";
import type { WriteJournal } from "../../kernel/write-journal.ts";
import { lockModel } from "../model-record.ts";

/** The record of a row. */
export function endpointRecord(row: EndpointRow): ModelEndpoint {
  return modelEndpointSchema.parse({ ...withIsoTimes(row), api_key_set: row.api_key !== null });
}

/** The endpoint of this model, locked after the model (docs/rules/freshness.md#write-path). Throws 404. */
export async function lockEndpoint(
  tx: Transaction,
  modelId: string,
  id: string,
): Promise<{ readonly model: ModelRow; readonly endpoint: EndpointRow }> {
  const model = await lockModel(tx, modelId);
  const [row] = await tx
    .select()
    .from(modelEndpoints)
    .where(and(eq(modelEndpoints.id, id), eq(modelEndpoints.model_id, modelId)))
    .for("update");
  if (row === undefined) throw new GatewayError("not_found");
  return { model: model.row, endpoint: row };
}

/**
 * Publishes the model of an endpoint again, under the revision of this write, because a model's copy contains its
 * endpoints.
 */
export async function touchModel(tx: Transaction, journal: WriteJournal, modelId: string): Promise<void> {
  const [model] = await tx
    .update(models)
    .set({ rev: journal.rev })
    .where(eq(models.id, modelId))
    .returning({ name: models.model_name });
  if (model !== undefined) journal.modelChanged(model.name);
}
