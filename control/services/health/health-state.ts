/**
 * What configuration does to a model's health state (decisions §10.2). Both make a check due at once. Outcomes of checks
 * are not decided here.
 */
import { eq } from "drizzle-orm";
import type { Transaction } from "../../db/connect.ts";
import { modelEndpoints } from "../../db/schema/endpoints.ts";
import { type ModelRow, modelHealth } from "../../db/schema/models.ts";

/** Columns of an endpoint of whose health nothing is known. */
export const ENDPOINT_UNKNOWN = {
  health_status: "unknown",
  consecutive_failures: 0,
  alert_state: "ok",
  last_checked_at: null,
  last_latency_ms: null,
  last_http_status: null,
  last_message: null,
  failing_since: null,
};

/** The model's upstream is another one: nothing is known of it. */
export async function forgetHealth(tx: Transaction, modelId: string, now: Date): Promise<void> {
  const nothing = {
    status: "unknown",
    consecutive_failures: 0,
    alert_state: "ok",
    last_checked_at: null,
    last_latency_ms: null,
    last_http_status: null,
    last_message: null,
    failing_since: null,
    evidence_from: now,
    next_check_at: now,
    updated_at: now,
  };
  await tx
    .insert(modelHealth)
    .values({ model_id: modelId, ...nothing })
    .onConflictDoUpdate({ target: modelHealth.model_id, set: nothing });
}

/**
 * The health part of the model was saved: checks that are off count nothing, silenced alerts do not fire. An endpoint that
 * nobody checks any longer is not left out of rotation for what was found once.
 */
export async function followHealthConfig(tx: Transaction, model: ModelRow, now: Date): Promise<void> {
  const silenced =
    !model.health_checks_enabled ||
    !model.health_alerts_enabled ||
    (model.health_maintenance_until !== null && model.health_maintenance_until > now);
  await tx
    .insert(modelHealth)
    .values({ model_id: model.id, next_check_at: now, updated_at: now })
    .onConflictDoUpdate({
      target: modelHealth.model_id,
      set: {
        next_check_at: now,
        updated_at: now,
        ...(model.health_checks_enabled ? {} : { consecutive_failures: 0, failing_since: null }),
        ...(silenced ? { alert_state: "ok" } : {}),
      },
    });
  const endpoints = tx.update(modelEndpoints);
  if (!model.health_checks_enabled) await endpoints.set(ENDPOINT_UNKNOWN).where(eq(modelEndpoints.model_id, model.id));
  else if (silenced) await endpoints.set({ alert_state: "ok" }).where(eq(modelEndpoints.model_id, model.id));
}
