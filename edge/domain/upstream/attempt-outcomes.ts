/**
 * How the attempts at upstreams ended, counted for `gateway_upstream_attempts_total`
 * (docs/rules/upstream-calls.md#outcome-counts): `success` per final 2xx, `timeout` per timed-out attempt, `retry` per
 * further attempt at the same endpoint, `failover` per move to the next, `exhausted` per request that ended without a
 * non-retryable answer.
 */
import { CELL_METRICS } from "../../../shared/catalogues/metrics.ts";

/** The closed set of outcomes, in the order they are shown. */
export const UPSTREAM_OUTCOMES = CELL_METRICS.gateway_upstream_attempts_total.labels.outcome;

type UpstreamOutcome = (typeof UPSTREAM_OUTCOMES)[number];

/**
 * Counts by outcome; outcomes that did not happen are absent. `refused`, per 429 or 503 of an upstream, is not in the metric:
 * it is a signal for the adaptive capacity (docs/rules/adaptive-capacity.md#signals).
 */
export type UpstreamOutcomes = Partial<Record<UpstreamOutcome | "refused", number>>;

/** Adds one to the count of an outcome. */
export function countOutcome(counts: UpstreamOutcomes, outcome: keyof UpstreamOutcomes): void {
  counts[outcome] = (counts[outcome] ?? 0) + 1;
}
