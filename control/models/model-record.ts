/** A model's row as the Management API shows it, without its credential; and the lock on the row for a write. */
import { eq, getTableColumns } from "drizzle-orm";
import { GatewayError } from "../../shared/errors.ts";
import { type CreateModel, type Model, modelSchema } from "../../shared/schema/model.ts";
import type { Transaction } from "../db/connect.ts";
import { type ModelRow, modelHealth, models } from "../db/schema/models.ts";
import { shownStatus } from "../db/shown-status.ts";
import { withIsoTimes } from "../kernel/iso-times.ts";
import { dropUndefined } from "../kernel/parse.ts";

/** A row with its health status. */
export interface ModelWithHealth {
  readonly row: ModelRow;
  readonly healthStatus: string;
}

export const modelWithHealth = {
  ...getTableColumns(models),
  health_status: shownStatus,
};

/** The record of a row. */
export function modelRecord({ row, healthStatus }: ModelWithHealth): Model {
  const shown = withIsoTimes(row);
  return modelSchema.parse({
    ...shown,
    api_key_set: row.api_key !== null && row.api_key !== "",
    health_status: healthStatus,
    maintenance_until: shown.health_maintenance_until,
    health: {
      checks_enabled: row.health_checks_enabled,
      alerts_enabled: row.health_alerts_enabled,
      check_interval_secs: row.health_check_interval_secs,
      failure_threshold: row.health_failure_threshold,
      maintenance_until: shown.health_maintenance_until,
      maintenance_note: row.health_maintenance_note,
    },
  });
}

/** Columns for the health part of a body; omitted fields are absent. */
export function healthColumns(health: CreateModel["health"]): Partial<ModelRow> {
  if (health === undefined) return {};
  const until = health.maintenance_until;
  return dropUndefined({
    health_checks_enabled: health.checks_enabled,
    health_alerts_enabled: health.alerts_enabled,
    health_check_interval_secs: health.check_interval_secs,
    health_failure_threshold: health.failure_threshold,
    health_maintenance_until: until === undefined || until === null ? until : new Date(until),
    health_maintenance_note: health.maintenance_note,
  });
}

/** The row, locked until the transaction ends. Throws 404. */
export async function lockModel(tx: Transaction, id: string): Promise<ModelWithHealth> {
  const [row] = await tx.select().from(models).where(eq(models.id, id)).for("update");
  if (row === undefined) throw new GatewayError("not_found");
  const [health] = await tx
    .select({ status: modelHealth.status })
    .from(modelHealth)
    .where(eq(modelHealth.model_id, id));
  return { row, healthStatus: health?.status ?? "unknown" };
}
