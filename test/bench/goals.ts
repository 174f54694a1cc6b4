/** The goals of the gateway, compared with the results of a run. A missed goal does not fail the bench. Pure. */
import type { PerRequest } from "./counting/cost.ts";
import type { Figures } from "./figures.ts";
import type { TargetName } from "./loads.ts";
import { difference, figuresIn, type Measured, summaryOf } from "./summary.ts";

export interface Goal {
  readonly what: string;
  /** The measured value; null when it was not measured. */
  readonly value: number | null;
  readonly atLeast?: number;
  readonly atMost?: number;
}

/** Whether the goal is reached; null when it was not measured. */
export function isReached({ value, atLeast, atMost }: Goal): boolean | null {
  if (value === null || Number.isNaN(value)) return null;
  return value >= (atLeast ?? Number.NEGATIVE_INFINITY) && value <= (atMost ?? Number.POSITIVE_INFINITY);
}

/** The goals. `counted`: the operations of a request among many at once; null when they were not counted. */
export function goalsOf(all: readonly Measured[], counted: PerRequest | null): readonly Goal[] {
  const of = (load: string, target: TargetName = "governed"): Figures | undefined => figuresIn(all, load, target);
  const overFloor = (load: string): number | null => of(load)?.overFloor?.median ?? null;
  const concurrencies = [1, 4, 16, 32, 64, 256];
  const overPeer = concurrencies.flatMap((count) => of(`c${count}`)?.overPeer?.median ?? []);
  const summary = summaryOf(all);
  const gap = difference(of("paced-asked")?.gapMs?.p99, of("paced-asked", "floor")?.gapMs?.p99);
  return [
    { what: "throughput / floor, 100 tenants, 32 at once", value: summary.governed_over_floor_tenants, atLeast: 0.3 },
    { what: "throughput / floor, one key, 32 at once", value: summary.governed_over_floor_c32, atLeast: 0.35 },
    {
      what: "throughput / floor, 20 % cache hits, 32 at once",
      value: summary.governed_over_floor_cache,
      atLeast: 0.45,
    },
    { what: "throughput / floor, 4 MB bodies, 4 at once", value: summary.governed_over_floor_body_4m, atLeast: 0.5 },
    {
      what: "throughput / peer, the worst concurrency",
      value: overPeer.length === 0 ? null : Math.min(...overPeer),
      atLeast: 1,
    },
    { what: "added p50 / that of the floor, one at a time", value: summary.added_p50_over_floor_c1, atMost: 2 },
    { what: "unpaced streams / floor, usage asked for", value: overFloor("stream-asked"), atLeast: 0.65 },
    { what: "translated streams / relayed streams", value: summary.stream_translated_over_relayed, atLeast: 0.8 },
    { what: "unpaced streams / floor, usage withheld", value: overFloor("stream-withheld"), atLeast: 0.4 },
    { what: "paced streams, gap p99 above the floor's, ms", value: gap, atMost: 1 },
    { what: "CPU of a chunk / floor, 150 streams", value: summary.stream_cpu_per_chunk_over_floor, atMost: 1.4 },
    { what: "CPU of a chunk / floor, 1,000 streams", value: summary.stream_cpu_per_chunk_over_floor_1000, atMost: 1.7 },
    { what: "gap p99 / floor, 1,000 streams", value: summary.stream_gap_p99_over_floor_1000, atMost: 3 },
    { what: "1,000 paced streams, longest silence, ms", value: of("streams-1000")?.longestGapMs ?? null, atMost: 1000 },
    { what: "a waiting request above the floor's, KB", value: summary.waiting_request_kb, atMost: 30 },
    { what: "object calls per request, many at once", value: counted?.objectRequests ?? null, atMost: 0.1 },
    { what: "CPU of the object process per request, ms", value: summary.object_process_cpu_ms, atMost: 0.15 },
    {
      what: "CPU of the object process per request of 1.3 s, ms",
      value: summary.object_process_cpu_ms_lasting,
      atMost: 0.2,
    },
    { what: "throughput of 3 Worker processes / one process", value: summary.workers_over_one_process, atLeast: 1.8 },
    { what: "CPU of guardrails on a 4 KB prompt, ms", value: summary.guardrails_cpu_ms_4k, atMost: 0.3 },
    { what: "CPU with all policies off / with none", value: summary.switched_off_cpu_over_governed, atMost: 1.05 },
    { what: "rows written per request, many at once", value: counted?.rowsWritten ?? null, atMost: 0.1 },
  ];
}
