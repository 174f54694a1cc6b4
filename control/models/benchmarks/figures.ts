/** The figures of a benchmark, from its requests (docs/rules/benchmarks.md#figures). Pure. */
import type { BenchmarkPoint, BenchmarkResult } from "../../../shared/schema/benchmark.ts";

/** One request that has ended; times in ms since the benchmark began. */
export interface BenchmarkSample {
  readonly startedMs: number;
  /** The first byte of the answer; null: there was none. */
  readonly firstByteMs: number | null;
  readonly endedMs: number;
  /** 0: there was no answer, or it broke off. */
  readonly status: number;
  /** As the upstream counted them. */
  readonly outputTokens: number;
}

const POINT_MS = 1000;

const isSuccess = ({ status }: BenchmarkSample): boolean => status >= 200 && status < 300;

/** A point for each second until `untilMs` that has ended; seconds without an end have zeros. */
export function pointsOf(samples: readonly BenchmarkSample[], untilMs: number): readonly BenchmarkPoint[] {
  const bySecond = Map.groupBy(samples, ({ endedMs }) => Math.floor(endedMs / POINT_MS));
  return Array.from({ length: Math.floor(untilMs / POINT_MS) }, (_, second) => {
    const ended = bySecond.get(second) ?? [];
    const succeeded = ended.filter(isSuccess);
    const latencies = sorted(succeeded.map(({ startedMs, endedMs }) => endedMs - startedMs));
    return {
      at_ms: (second + 1) * POINT_MS,
      requests: ended.length,
      errors: ended.length - succeeded.length,
      p50_ms: percentile(latencies, 0.5),
      p95_ms: percentile(latencies, 0.95),
      ttft_p50_ms: percentile(sorted(firstBytes(succeeded)), 0.5),
      output_tokens: sum(succeeded.map(({ outputTokens }) => outputTokens)),
    };
  });
}

/** The figures of all requests of `durationMs`. */
export function resultOf(samples: readonly BenchmarkSample[], durationMs: number): BenchmarkResult {
  const succeeded = samples.filter(isSuccess);
  const latencies = sorted(succeeded.map(({ startedMs, endedMs }) => endedMs - startedMs));
  const ttft = sorted(firstBytes(succeeded));
  const secs = Math.max(durationMs, 1) / 1000;
  const tokens = sum(succeeded.map(({ outputTokens }) => outputTokens));
  const statuses: Record<string, number> = {};
  for (const { status } of samples) statuses[status] = (statuses[status] ?? 0) + 1;
  return {
    requests: samples.length,
    errors: samples.length - succeeded.length,
    duration_ms: Math.round(durationMs),
    throughput_rps: hundredths(succeeded.length / secs),
    p50_ms: percentile(latencies, 0.5),
    p95_ms: percentile(latencies, 0.95),
    p99_ms: percentile(latencies, 0.99),
    ttft_p50_ms: percentile(ttft, 0.5),
    ttft_p95_ms: percentile(ttft, 0.95),
    output_tokens: tokens,
    output_tokens_per_sec: hundredths(tokens / secs),
    statuses,
  };
}

function firstBytes(samples: readonly BenchmarkSample[]): readonly number[] {
  return samples.flatMap(({ startedMs, firstByteMs }) => (firstByteMs === null ? [] : [firstByteMs - startedMs]));
}

function sorted(values: readonly number[]): readonly number[] {
  return values.toSorted((a, b) => a - b);
}

/** The nearest rank, in tenths of a millisecond; null: there are no values. */
function percentile(values: readonly number[], share: number): number | null {
  const value = values[Math.max(0, Math.ceil(values.length * share) - 1)];
  return value === undefined ? null : Math.round(value * 10) / 10;
}

function sum(values: readonly number[]): number {
  return Math.min(
    values.reduce((total, value) => total + value, 0),
    Number.MAX_SAFE_INTEGER,
  );
}

function hundredths(value: number): number {
  return Math.round(value * 100) / 100;
}
