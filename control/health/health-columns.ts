/**
 * Health between its columns and the state machine: what models and endpoints have in common. Pure.
 */
import type { HealthRow } from "../db/schema/models.ts";
import type { Finding } from "./finding.ts";
import { type HealthRules, type HealthStep, type Outcome, stepHealth } from "./health-state.ts";

/** The step from a row that has this status; a row that is not there yet is unknown. */
export function step(
  before: Pick<HealthRow, "consecutive_failures" | "alert_state" | "failing_since"> | undefined,
  status: string | undefined,
  outcome: Outcome,
  rules: HealthRules,
  now: Date,
): HealthStep {
  const state = {
    status: status ?? "unknown",
    failures: before?.consecutive_failures ?? 0,
    firing: before?.alert_state === "firing",
    failingSinceMs: before?.failing_since?.getTime() ?? null,
  };
  return stepHealth(state, outcome, rules, now.getTime());
}

/** A state's columns but its status, which models and endpoints call differently. */
export function columnsOf({ failures, firing, failingSinceMs }: HealthStep["state"]) {
  return {
    consecutive_failures: failures,
    alert_state: firing ? "firing" : "ok",
    failing_since: failingSinceMs === null ? null : new Date(failingSinceMs),
  };
}

/** What was seen last; a check that did not take place has seen nothing. */
export function seenColumns({ outcome, latencyMs, httpStatus, message }: Finding, now: Date) {
  if (outcome === "skipped") return {};
  return {
    last_checked_at: now,
    last_latency_ms: latencyMs,
    last_http_status: httpStatus,
    last_message: message,
  };
}

/** The model was found unwell: that it served somebody earlier proves nothing of now. */
export function provesNothingBefore(outcome: Outcome): boolean {
  return outcome === "unhealthy" || outcome === "degraded" || outcome === "unknown";
}
