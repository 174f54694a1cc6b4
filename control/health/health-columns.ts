/** Converts health between columns and the state machine, for both models and endpoints. Pure. */
import type { HealthRow } from "../db/schema/models.ts";
import type { Finding } from "./finding.ts";
import { type HealthOutcome, type HealthState, UNKNOWN_HEALTH } from "./health-state.ts";

/**
 * The state of a row. `status` is separate because the two tables name that column differently. Without a row nothing is
 * known.
 */
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

/** The columns of a state without its status, whose column models and endpoints name differently. */
export function columnsOf({ failures, firing, failingSinceMs }: HealthState) {
  return {
    consecutive_failures: failures,
    alert_state: firing ? "firing" : "ok",
    failing_since: failingSinceMs === null ? null : new Date(failingSinceMs),
  };
}

/** The columns of the last check; none for a check that was skipped. */
export function lastCheckColumns({ outcome, latencyMs, httpStatus, message }: Finding, now: Date) {
  if (outcome === "skipped") return {};
  return {
    last_checked_at: now,
    last_latency_ms: latencyMs,
    last_http_status: httpStatus,
    last_message: message,
  };
}

/** True when the model was found unwell: successful requests from before then prove nothing any more. */
export function voidsEarlierEvidence(outcome: HealthOutcome): boolean {
  return outcome === "unhealthy" || outcome === "degraded" || outcome === "unknown";
}
