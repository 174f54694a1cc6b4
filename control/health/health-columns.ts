/**
 * Health between its columns and the state machine: what models and endpoints have in common. Pure.
 */
import type { HealthRow } from "../db/schema/models.ts";
import type { Finding } from "./finding.ts";
import { type HealthOutcome, type HealthState, UNKNOWN_HEALTH } from "./health-state.ts";

/** A row's state; `status` by the name that its table has for it. A row that is not there yet: nothing is known. */
export function stateOf(
  row: Pick<HealthRow, "consecutive_failures" | "alert_state" | "failing_since"> | undefined,
  status: string | undefined,
): HealthState {
  if (row === undefined) return UNKNOWN_HEALTH;
  return {
    status: status ?? UNKNOWN_HEALTH.status,
    failures: row.consecutive_failures,
    firing: row.alert_state === "firing",
    failingSinceMs: row.failing_since?.getTime() ?? null,
  };
}

/** A state's columns but its status, which models and endpoints call differently. */
export function columnsOf({ failures, firing, failingSinceMs }: HealthState) {
  return {
    consecutive_failures: failures,
    alert_state: firing ? "firing" : "ok",
    failing_since: failingSinceMs === null ? null : new Date(failingSinceMs),
  };
}

/** What was seen last; a check that did not take place has seen nothing. */
export function lastCheckColumns({ outcome, latencyMs, httpStatus, message }: Finding, now: Date) {
  if (outcome === "skipped") return {};
  return {
    last_checked_at: now,
    last_latency_ms: latencyMs,
    last_http_status: httpStatus,
    last_message: message,
  };
}

/** The model was found unwell: that it served somebody earlier proves nothing of now. */
export function voidsEarlierEvidence(outcome: HealthOutcome): boolean {
  return outcome === "unhealthy" || outcome === "degraded" || outcome === "unknown";
}
