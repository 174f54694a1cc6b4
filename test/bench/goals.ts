/**
 * What the gateway is meant to reach, beside what a run says it does. Goals of the bench: nothing fails by them. Pure.
 */
import type { PerRequest } from "./counting/cost.ts";
import type { Figures } from "./figures.ts";
import type { TargetName } from "./loads.ts";
import type { Measured } from "./summary.ts";

export interface Goal {
  readonly what: string;
  /** What was measured; null when it was not. */
  readonly value: number | null;
  readonly atLeast?: number;
  readonly atMost?: number;
}

/** Whether it is reached; null when it was not measured. */
export function isReached({ value, atLeast, atMost }: Goal): boolean | null {
  if (value === null || Number.isNaN(value)) return null;
  return value >= (atLeast ?? Number.NEGATIVE_INFINITY) && value <= (atMost ?? Number.POSITIVE_INFINITY);
}

/**
 * What one more waiting request holds at a target, KiB: by how much the peak grows from the smaller queue to the larger one. A
 * single queue says less, since a process grows by its first crowd once, however large that is. Null when not measured.
 */
export function heldKb(all: readonly Measured[], target: TargetName): number | null {
  const peaks = ["queue-1000", "queue"].flatMap((name) =>
    all.flatMap(({ load, figures }) => {
      const peakMb = figures.find((each) => each.target === target)?.firstPeakMb ?? null;
      return load.name === name && peakMb !== null ? [{ peakMb, waiting: load.concurrency }] : [];
    }),
  );
  const [few, many] = peaks;
  if (few === undefined || many === undefined) return null;
  return (1024 * (many.peakMb - few.peakMb)) / (many.waiting - few.waiting);
}

/** The goals; `counted` are the operations of a request among many at once, null when they were not counted. */
export function goalsOf(all: readonly Measured[], counted: PerRequest | null): readonly Goal[] {
  const of = (load: string, target: TargetName = "governed"): Figures | undefined =>
    all.find((measured) => measured.load.name === load)?.figures.find((figures) => figures.target === target);
  const less = (over: number | null | undefined, under: number | null | undefined, by: "-" | "/"): number | null => {
    if (over === null || over === undefined || under === null || under === undefined) return null;
    return by === "-" ? over - under : over / under;
  };
  const overFloor = (load: string): number | null => of(load)?.overFloor?.median ?? null;
  const concurrencies = [1, 4, 16, 32, 64, 256];
  const overPeer = concurrencies.flatMap((count) => of(`c${count}`)?.overPeer?.median ?? []);
  const added = less(of("c1")?.addedP50Ms?.median, of("c1", "floor")?.addedP50Ms?.median, "/");
  const held = less(heldKb(all, "governed"), heldKb(all, "floor"), "-");
  const gap = less(of("paced-asked")?.gapMs?.p99, of("paced-asked", "floor")?.gapMs?.p99, "-");
  return [
    ...[16, 32, 64].map((count) => ({
      what: `throughput / floor, ${count} at once`,
      value: overFloor(`c${count}`),
      atLeast: 0.6,
    })),
    {
      what: "throughput / peer, the worst concurrency",
      value: overPeer.length === 0 ? null : Math.min(...overPeer),
      atLeast: 1,
    },
    { what: "added p50 / that of the floor, one at a time", value: added, atMost: 1.5 },
    { what: "unpaced streams / floor, usage asked for", value: overFloor("stream-asked"), atLeast: 0.65 },
    { what: "unpaced streams / floor, usage withheld", value: overFloor("stream-withheld"), atLeast: 0.4 },
    { what: "paced streams, gap p99 above the floor's, ms", value: gap, atMost: 1 },
    { what: "1,000 paced streams, longest silence, ms", value: of("streams-1000")?.longestGapMs ?? null, atMost: 1000 },
    { what: "a waiting request above the floor's, KB", value: held, atMost: 20 },
    {
      what: "CPU of the object process per request, ms",
      value: of("workers-many", "workers")?.cpuMsPerRequest?.median ?? null,
      atMost: 0.15,
    },
    {
      what: "throughput of 3 Worker processes / one process",
      value: of("workers-many", "workers")?.overFront?.median ?? null,
      atLeast: 1.8,
    },
    { what: "rows written per request, many at once", value: counted?.rowsWritten ?? null, atMost: 0.1 },
  ];
}
