/**
 * The load of a benchmark (docs/rules/benchmarks.md#load): workers that each send their next request when their last one has
 * ended, until there were enough or the time is over. Time and requests are arguments.
 */
import type { BenchmarkSample } from "./figures.ts";

/** How one request ended. */
export type LoadAnswer = Pick<BenchmarkSample, "firstByteMs" | "status" | "outputTokens">;

interface LoadOptions {
  readonly concurrency: number;
  readonly maxRequests: number;
  /** Sends one request; never rejects. `firstByteMs` by the clock of `nowMs`. */
  readonly send: (signal: AbortSignal) => Promise<LoadAnswer>;
  /** Milliseconds since the benchmark began. */
  readonly nowMs: () => number;
  /** Ends the load at once. */
  readonly signal: AbortSignal;
  readonly onSample: (sample: BenchmarkSample) => void;
}

/** Resolves when no request is under way any more. Requests that the signal cuts off are no samples. */
export async function runLoad({ concurrency, maxRequests, send, nowMs, signal, onSample }: LoadOptions): Promise<void> {
  let sent = 0;
  const work = async (): Promise<void> => {
    while (!signal.aborted && sent < maxRequests) {
      sent += 1;
      const startedMs = nowMs();
      const answer = await send(signal);
      if (signal.aborted) return;
      onSample({ startedMs, endedMs: nowMs(), ...answer });
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, maxRequests) }, work));
}
