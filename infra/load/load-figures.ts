/** The results of a load, in numbers. Pure. */
import type { LoadSample } from "./one-request.ts";
import type { LoadRun } from "./run-load.ts";

/** Milliseconds; null: there was nothing to measure. */
export interface LoadTimes {
  readonly p50: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
  readonly max: number | null;
}

/** One second of a load, or several when it was long. */
export interface LoadBucket {
  /** Since the start of the load. */
  readonly fromMs: number;
  /** Requests that ended in it, a second. */
  readonly okPerSecond: number;
  readonly failedPerSecond: number;
  /** Of the requests that ended well in it. */
  readonly first: LoadTimes;
}

export interface LoadFigures {
  readonly requests: number;
  readonly ok: number;
  readonly notSent: number;
  readonly lastedMs: number;
  /** Requests that ended well, a second of the whole load. */
  readonly okPerSecond: number;
  readonly outputTokensPerSecond: number;
  readonly first: LoadTimes;
  readonly total: LoadTimes;
  /** How many requests had each other outcome, the most frequent first. */
  readonly failures: readonly (readonly [outcome: string, count: number])[];
  readonly bucketMs: number;
  readonly buckets: readonly LoadBucket[];
}

const BUCKETS_MAX = 120;

/** The figures of a run. */
export function loadFigures({ samples, notSent, lastedMs }: LoadRun): LoadFigures {
  const good = samples.filter(({ outcome }) => outcome === "ok");
  const seconds = lastedMs / 1000;
  const perSecond = (count: number): number => (seconds > 0 ? count / seconds : 0);
  const bucketMs = 1000 * Math.max(1, Math.ceil(seconds / BUCKETS_MAX));
  return {
    requests: samples.length,
    ok: good.length,
    notSent,
    lastedMs,
    okPerSecond: perSecond(good.length),
    outputTokensPerSecond: perSecond(good.reduce((sum, { outputTokens }) => sum + outputTokens, 0)),
    first: timesOf(good.map(firstOf)),
    total: timesOf(good.map(({ startMs, endMs }) => endMs - startMs)),
    failures: failuresOf(samples),
    bucketMs,
    buckets: bucketsOf(samples, bucketMs, lastedMs),
  };
}

function firstOf({ startMs, firstMs, endMs }: LoadSample): number {
  return (firstMs ?? endMs) - startMs;
}

function failuresOf(samples: readonly LoadSample[]): LoadFigures["failures"] {
  const counts = new Map<string, number>();
  for (const { outcome } of samples) if (outcome !== "ok") counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  return [...counts].sort(([nameA, a], [nameB, b]) => b - a || (nameA < nameB ? -1 : 1));
}

function bucketsOf(samples: readonly LoadSample[], bucketMs: number, lastedMs: number): readonly LoadBucket[] {
  // The rest at the end is a separate part if it is long enough for a rate.
  const count = Math.max(1, Math.round(lastedMs / bucketMs));
  const parts = Array.from({ length: count }, (): LoadSample[] => []);
  for (const sample of samples) parts[Math.min(count - 1, Math.floor(sample.endMs / bucketMs))]?.push(sample);
  return parts.map((part, at) => {
    const good = part.filter(({ outcome }) => outcome === "ok");
    const seconds = Math.max(1, at === count - 1 ? lastedMs - at * bucketMs : bucketMs) / 1000;
    return {
      fromMs: at * bucketMs,
      okPerSecond: good.length / seconds,
      failedPerSecond: (part.length - good.length) / seconds,
      first: timesOf(good.map(firstOf)),
    };
  });
}

/** Percentiles by the nearest rank. */
function timesOf(values: readonly number[]): LoadTimes {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number): number | null => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? null;
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) };
}
