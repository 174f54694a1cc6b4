/**
 * What one step of a capacity probe has measured (decisions §11.1): a number of workers, each of which sends its next
 * request when its last has ended. Pure.
 */

/** How a request ended; `timeout`: nothing came within its time. */
export type LoadOutcome = "ok" | "timeout" | "error";

/** One request; times in ms since the step began. */
export interface LoadSample {
  readonly outcome: LoadOutcome;
  readonly startedMs: number;
  readonly endedMs: number;
}

/** A step as the report shows it. Latencies are those of answers and timeouts; null when there were none. */
export interface LoadStep {
  readonly concurrency: number;
  readonly throughputRps: number;
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  readonly requests: number;
  readonly errors: number;
}

/** The figures of a step. */
export function measuredStep(concurrency: number, samples: readonly LoadSample[]): LoadStep {
  const latencies = samples
    .filter(({ outcome }) => outcome !== "error")
    .map(({ startedMs, endedMs }) => endedMs - startedMs)
    .sort((a, b) => a - b);
  return {
    concurrency,
    throughputRps: throughputOf(samples),
    p50Ms: latencies[rank(latencies.length, 0.5)] ?? null,
    p99Ms: latencies[Math.min(rank(latencies.length, 0.99), Math.max(0, latencies.length - 2))] ?? null,
    requests: samples.length,
    errors: samples.filter(({ outcome }) => outcome !== "ok").length,
  };
}

/**
 * Successes per second, at the moment after the last request was sent at which that is most: before it requests are under
 * way that count for nothing, long after it workers are idle whose upstream is not.
 */
function throughputOf(samples: readonly LoadSample[]): number {
  const lastSentMs = Math.max(...samples.map(({ startedMs }) => startedMs));
  let succeeded = 0;
  let most = 0;
  for (const { outcome, endedMs } of samples.toSorted((a, b) => a.endedMs - b.endedMs)) {
    if (outcome === "ok") succeeded += 1;
    if (endedMs >= lastSentMs && endedMs > 0) most = Math.max(most, succeeded / endedMs);
  }
  return most * 1000;
}

/** Place of the nearest rank among `count` sorted values; one slow request of a few is an accident, not their p99. */
function rank(count: number, share: number): number {
  return Math.max(0, Math.ceil(count * share) - 1);
}
