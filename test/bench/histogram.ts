/**
 * Percentiles of latencies, twice: as measured, and corrected for the requests that a waiting client did not send meanwhile
 * (coordinated omission): each latency above the client's usual cycle stands for those requests as well. Pure.
 */
import { build, type Histogram } from "hdr-histogram-js";

const LONGEST_US = 600_000_000;

/** In milliseconds; NaN when there are none. */
export interface Percentiles {
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
}

function percentilesOf(histogram: Histogram): Percentiles {
  const at = (percentile: number): number =>
    histogram.totalCount === 0 ? Number.NaN : histogram.getValueAtPercentile(percentile) / 1000;
  return { p50: at(50), p99: at(99), p999: at(99.9), max: at(100) };
}

const empty = (): Histogram =>
  build({ bitBucketSize: 32, highestTrackableValue: LONGEST_US, numberOfSignificantValueDigits: 3 });

/** Percentiles of latencies in milliseconds; the usual cycle of a client is the mean latency. */
export function latencies(lists: readonly Float64Array[]): { seen: Percentiles; corrected: Percentiles } {
  const seen = empty();
  for (const list of lists)
    for (const ms of list) seen.recordValue(Math.min(LONGEST_US, Math.max(1, Math.round(1000 * ms))));
  const corrected = empty();
  if (seen.totalCount > 0) corrected.addWhileCorrectingForCoordinatedOmission(seen, Math.max(1, Math.round(seen.mean)));
  return { seen: percentilesOf(seen), corrected: percentilesOf(corrected) };
}
