/**
 * What one check found, and the finding for a model from the findings at its endpoints (docs/rules/health.md#records,
 * docs/rules/health.md#probes). Messages are in our own words, because they are part of alerts.
 */
import type { HealthOutcome } from "./health-state.ts";

const MESSAGE_MAX = 240;

export interface Finding {
  readonly outcome: HealthOutcome;
  readonly message: string;
  /** Of the last attempt; null when no call was made. */
  readonly latencyMs: number | null;
  /** Null: no answer. */
  readonly httpStatus: number | null;
  /** The beginning of the upstream's answer; null when it is not text. */
  readonly excerpt: string | null;
}

/** A finding without a call. */
export function findingOf(outcome: HealthOutcome, message: string): Finding {
  return { outcome, message: message.slice(0, MESSAGE_MAX), latencyMs: null, httpStatus: null, excerpt: null };
}

/** With fewer failed requests than this a probe says more. */
const FAILED_MIN = 3;

/**
 * The finding of a probe beside what users got meanwhile: where every one of at least three requests failed, a model whose probe
 * passed is degraded, and one that answers with errors is unhealthy.
 */
export function findingWithTraffic(
  found: Finding,
  { requests, served }: { readonly requests: number; readonly served: number },
): Finding {
  if (served > 0 || requests < FAILED_MIN) return found;
  if (found.outcome !== "healthy" && found.outcome !== "degraded") return found;
  const message = `${found.message}; all ${requests} requests since the last check failed`.slice(0, MESSAGE_MAX);
  return { ...found, outcome: found.outcome === "healthy" ? "degraded" : "unhealthy", message };
}

/**
 * The finding for a model that only its endpoints serve: healthy when all endpoints are, unhealthy when all are, else
 * degraded. A managed model is healthy as soon as `minReplicas` of its endpoints are, because others may just be starting;
 * one without endpoints is unhealthy unless none is wanted. Endpoints whose outcome is unknown count only when there are no
 * others. `outcomes` is empty only for managed models.
 */
export function findingOfEndpoints(outcomes: readonly HealthOutcome[], minReplicas: number | null = null): Finding {
  const known = outcomes.filter((outcome) => outcome !== "unknown");
  const healthy = known.filter((outcome) => outcome === "healthy").length;
  const message = `${healthy} of ${outcomes.length} endpoints healthy`;
  if (minReplicas !== null && healthy >= minReplicas) return findingOf("healthy", message);
  if (outcomes.length === 0) return findingOf("unhealthy", "no replica serves");
  if (known.length === 0) return findingOf("unknown", message);
  if (minReplicas === null && healthy === known.length) return findingOf("healthy", message);
  return findingOf(known.every((outcome) => outcome === "unhealthy") ? "unhealthy" : "degraded", message);
}
