/**
 * What every change of single fields of a model has in common: lock, update, audit, hot copy.
 */
import { eq } from "drizzle-orm";
import { GatewayError } from "../../shared/errors.ts";
import type { Model } from "../../shared/schema/model.ts";
import { type ModelRow, models } from "../db/schema/models.ts";
import { changedFields } from "../kernel/changed-fields.ts";
import type { VerbContext, Written } from "../kernel/context.ts";
import { write } from "../kernel/write.ts";
import { lockModel, modelRecord } from "./model-record.ts";

/** Fields that hold no secret, so that the audit may show their values. */
type Fields = Partial<
  Pick<
    ModelRow,
    | "max_in_flight"
    | "admission_weight"
    | "capacity_mode"
    | "capacity_tuned_at"
    | "cache_enabled"
    | "cache_ttl_secs"
    | "request_timeout_secs"
    | "max_retries"
    | "retry_backoff_ms"
    | "endpoint_selection_mode"
    | "debug_diagnostics"
  >
>;

/** Sets fields of a model. Throws 404. */
export async function changeModel(
  ctx: VerbContext,
  id: string,
  action: string,
  fields: Fields,
): Promise<Written<Model>> {
  return await write(ctx, async (tx, journal) => {
    const before = await lockModel(tx, id);
    const [row] = await tx
      .update(models)
      .set({ ...fields, rev: journal.rev, updated_at: ctx.now() })
      .where(eq(models.id, id))
      .returning();
    if (row === undefined) throw new GatewayError("not_found");
    journal.audit({ action, entityType: "model", entityId: id, detail: changedFields(before.row, fields) });
    journal.modelChanged(row.model_name);
    return modelRecord({ row, healthStatus: before.healthStatus });
  });
}
