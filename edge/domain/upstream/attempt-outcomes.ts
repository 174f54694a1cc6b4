/**
 * How the attempts at upstreams ended, counted for `gateway_upstream_attempts_total` (specification "Metrics", decisions
 * §22.4): `success` per final 2xx, `timeout` per timed-out attempt, `retry` per further attempt at the same endpoint,
 * `failover` per move to the next, `exhausted` per request that ended without a non-retryable answer.
 */

/** The closed set of outcomes, in the order they are shown. */
export const UPSTREAM_OUTCOMES = ["success", "retry", "timeout", "failover", "exhausted"] as const;

type UpstreamOutcome = (typeof UPSTREAM_OUTCOMES)[number];

/** Counts by outcome; what did not happen is absent. */
export type UpstreamOutcomes = Partial<Record<UpstreamOutcome, number>>;

/** Adds one. */
export function countOutcome(counts: UpstreamOutcomes, outcome: UpstreamOutcome): void {
  counts[outcome] = (counts[outcome] ?? 0) + 1;
}
