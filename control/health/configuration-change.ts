/**
 * What a change of configuration does to a model's health state (docs/rules/health.md#states). Both functions make a
 * check due at once. Outcomes of checks are not decided here.
 */
import { eq } from "drizzle-orm";
import type { Transaction } from "../db/connect.ts";
import { modelEndpoints } from "../db/schema/endpoints.ts";
import { type ModelRow, modelHealth } from "../db/schema/models.ts";
import { columnsOf, stateOf } from "./health-columns.ts";
import { configureHealth, UNKNOWN_HEALTH } from "./health-state.ts";

/** The columns of an endpoint whose health is not known. */
export const UNKNOWN_ENDPOINT_HEALTH = {
  ...columnsOf(UNKNOWN_HEALTH),
  health_status: UNKNOWN_HEALTH.status,
  last_checked_at: null,
  last_latency_ms: null,
  last_http_status: null,
  last_message: null,
};

/** Resets the health of a model that now has another upstream: nothing is known of it. */
export async function resetHealth(tx: Transaction, modelId: string, now: Date): Promise<void> {
  const nothing = {
    ...columnsOf(UNKNOWN_HEALTH),
    status: UNKNOWN_HEALTH.status,
    last_checked_at: null,
    last_latency_ms: null,
    last_http_status: null,
    last_message: null,
    evidence_from: now,
    next_check_at: now,
    updated_at: now,
  };
  await tx
    .insert(modelHealth)
    .values({ model_id: modelId, ...nothing })
    .onConflictDoUpdate({ target: modelHealth.model_id, set: nothing });
}

/** A model has another credential: what was served before proves nothing any more. */
export async function forgetEvidence(tx: Transaction, modelId: string, now: Date): Promise<void> {
  await tx.update(modelHealth).set({ evidence_from: now, next_check_at: now }).where(eq(modelHealth.model_id, modelId));
}

/**
 * Applies the saved health part of a model: when checks are off no failures count, and a silenced alert does not fire. When
 * checks are off, an endpoint that was found unhealthy earlier returns to rotation.
 */
export async function applyHealthConfig(tx: Transaction, model: ModelRow, now: Date): Promise<void> {
  const config = {
    checksEnabled: model.health_checks_enabled,
    alertsEnabled: model.health_alerts_enabled,
    inMaintenance: model.health_maintenance_until !== null && model.health_maintenance_until > now,
  };
  const [before] = await tx.select().from(modelHealth).where(eq(modelHealth.model_id, model.id)).for("update");
  const after = configureHealth(stateOf(before, before?.status), config);
  const columns = { ...columnsOf(after), next_check_at: now, updated_at: now };
  await tx
    .insert(modelHealth)
    .values({ model_id: model.id, ...columns })
    .onConflictDoUpdate({ target: modelHealth.model_id, set: columns });
  const endpoints = tx.update(modelEndpoints);
  if (!config.checksEnabled) await endpoints.set(UNKNOWN_ENDPOINT_HEALTH).where(eq(modelEndpoints.model_id, model.id));
  else if (!config.alertsEnabled || config.inMaintenance)
    await endpoints.set({ alert_state: "ok" }).where(eq(modelEndpoints.model_id, model.id));
}
