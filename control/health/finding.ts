/**
 * What one check found, and what follows from the findings at several endpoints (decisions §10.1, §10.4). Messages are of
 * our own words: they go into alerts.
 */
import type { HealthOutcome } from "./health-state.ts";

const MESSAGE_MAX = 240;

export interface Finding {
  readonly outcome: HealthOutcome;
  readonly message: string;
  /** Of the last attempt; null when nothing was asked. */
  readonly latencyMs: number | null;
  /** Null: no answer. */
  readonly httpStatus: number | null;
  /** The beginning of what the upstream said; null when it is no text. */
  readonly excerpt: string | null;
}

/** A finding without a call behind it. */
export function findingOf(outcome: HealthOutcome, message: string): Finding {
  return { outcome, message: message.slice(0, MESSAGE_MAX), latencyMs: null, httpStatus: null, excerpt: null };
}

/**
 * A model that only its endpoints serve: healthy when all are, unhealthy when all are, degraded between. Those of which
 * nothing can be told decide nothing unless there are no others. Never called without any.
 */
export function findingOfEndpoints(outcomes: readonly HealthOutcome[]): Finding {
  const told = outcomes.filter((outcome) => outcome !== "unknown");
  const healthy = told.filter((outcome) => outcome === "healthy").length;
  const message = `${healthy} of ${outcomes.length} endpoints healthy`;
  if (told.length === 0) return findingOf("unknown", message);
  if (healthy === told.length) return findingOf("healthy", message);
  return findingOf(told.every((outcome) => outcome === "unhealthy") ? "unhealthy" : "degraded", message);
}
