/** A model's health as the Management API shows it; a model that was never checked has the initial state. */
import { type ModelHealthSummary, modelHealthSummarySchema } from "../../shared/schema/model-health.ts";
import type { HealthRow, ModelRow } from "../db/schema/models.ts";

/** The summary of a model from its rows. `status`: the shown one, if it was read. */
export function healthSummary(
  model: ModelRow,
  health: HealthRow | null,
  status = health?.status ?? "unknown",
): ModelHealthSummary {
  const iso = (date: Date | null | undefined): string | null => date?.toISOString() ?? null;
  return modelHealthSummarySchema.parse({
    model_id: model.id,
    model_name: model.model_name,
    checks_enabled: model.health_checks_enabled,
    alerts_enabled: model.health_alerts_enabled,
    check_interval_secs: model.health_check_interval_secs,
    failure_threshold: model.health_failure_threshold,
    maintenance_until: iso(model.health_maintenance_until),
    maintenance_note: model.health_maintenance_note,
    status,
    consecutive_failures: health?.consecutive_failures ?? 0,
    alert_state: health?.alert_state ?? "ok",
    next_check_at: iso(health?.next_check_at),
    last_checked_at: iso(health?.last_checked_at),
    last_latency_ms: health?.last_latency_ms ?? null,
    last_http_status: health?.last_http_status ?? null,
    last_message: health?.last_message ?? null,
    updated_at: iso(health?.updated_at ?? model.updated_at),
    rev: model.rev,
  });
}
