/**
 * What one step of a capacity probe has measured (docs/rules/autotune.md#ladder). In a step a number of workers each
 * send their next request when their last one has ended. Pure.
 */

/** How a request ended; `timeout`: no answer came in time. */
export type LoadOutcome = "ok" | "timeout" | "error";

/** One request; times in ms since the step began. */
export interface LoadSample {
  readonly outcome: LoadOutcome;
  readonly startedMs: number;
  readonly endedMs: number;
}

/** A step. Latencies are those of answers and timeouts; null when there were none. */
export interface LoadStep {
  readonly concurrency: number;
  /** The mean of its runs. */
  readonly throughputRps: number;
  /** That of its worst run: with few requests the mean can be luck. */
  readonly lowestRps: number;
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  readonly requests: number;
  readonly errors: number;
}

/** The figures of a step. Times of each run are relative to its own start. */
export function measuredStep(concurrency: number, runs: readonly (readonly LoadSample[])[]): LoadStep {
  const samples = runs.flat();
  const rates = runs.map(throughputOf);
  const latencies = samples
    .filter(({ outcome }) => outcome !== "error")
    .map(({ startedMs, endedMs }) => endedMs - startedMs)
    .sort((a, b) => a - b);
  return {
    concurrency,
    throughputRps: rates.reduce((sum, rate) => sum + rate, 0) / rates.length,
    lowestRps: Math.min(...rates),
    p50Ms: latencies[rank(latencies.length, 0.5)] ?? null,
    p99Ms: latencies[Math.min(rank(latencies.length, 0.99), Math.max(0, latencies.length - 2))] ?? null,
    requests: samples.length,
    errors: samples.filter(({ outcome }) => outcome !== "ok").length,
  };
}

/**
 * Successes per second. Of all moments after the last request was sent, it takes the one with the highest rate: earlier,
 * requests that are still running would not be counted; much later, some workers are idle although their upstream is not.
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

/** Index of the nearest rank among `count` sorted values. With few requests, one slow request does not become the p99. */
function rank(count: number, share: number): number {
  return Math.max(0, Math.ceil(count * share) - 1);
}
