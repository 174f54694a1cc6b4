/** The figures by which runs are compared, and the rates that are possible according to a sweep over concurrency. Pure. */
import type { Figures } from "./figures.ts";
import type { Load, TargetName } from "./loads.ts";

/** One load with the figures of its targets. */
export interface Measured {
  readonly load: Load;
  readonly figures: readonly Figures[];
}

export const figuresIn = (all: readonly Measured[], name: string, target: TargetName): Figures | undefined =>
  all.find(({ load }) => load.name === name)?.figures.find((figures) => figures.target === target);
const governed = (all: readonly Measured[], name: string): Figures | undefined => figuresIn(all, name, "governed");
const workers = (all: readonly Measured[], name: string): Figures | undefined => figuresIn(all, name, "workers");

/** A figure of the gateway / that of the bare Worker. */
function byFloor(
  all: readonly Measured[],
  name: string,
  read: (figures: Figures) => number | undefined,
): number | null {
  const [own, floor] = (["governed", "floor"] as const).map((target) => {
    const figures = figuresIn(all, name, target);
    return figures === undefined ? undefined : read(figures);
  });
  return own === undefined || floor === undefined ? null : own / floor;
}

/**
 * The memory of one more waiting request at a target, KiB: how much the peak grows from the smaller queue to the larger
 * one. A single queue says less, because a process grows by its first crowd once, however large that is. Null when not
 * measured.
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

/** Null when one of the two was not measured. */
export function difference(of: number | null | undefined, less: number | null | undefined): number | null {
  return of === null || of === undefined || less === null || less === undefined ? null : of - less;
}

function ratio(of: number | null, by: number | null): number | null {
  return of === null || by === null ? null : of / by;
}

/** The summary of a run: medians over the rounds; null where a target was not measured. */
export function summaryOf(all: readonly Measured[]) {
  const overFloor = (name: string): number | null => governed(all, name)?.overFloor?.median ?? null;
  const rate = (name: string): number | null => governed(all, name)?.rps?.median ?? null;
  const cpu = ({ cpuMsPerRequest }: Figures): number | undefined => cpuMsPerRequest?.median;
  return {
    governed_over_floor_c1: overFloor("c1"),
    governed_over_floor_c16: overFloor("c16"),
    governed_over_floor_c32: overFloor("c32"),
    governed_over_floor_c64: overFloor("c64"),
    // 100 tenants, 32 requests at once: the main figure
    governed_over_floor_tenants: overFloor("tenants"),
    // one request in five is answered from the response cache
    governed_over_floor_cache: overFloor("cache"),
    governed_over_floor_body_4m: overFloor("body-4m"),
    governed_over_peer_c32: governed(all, "c32")?.overPeer?.median ?? null,
    // the bare Worker passes streams on natively
    stream_over_native: overFloor("stream-asked"),
    // the same chunks, to clients of the other API
    stream_translated_over_relayed: ratio(rate("stream-translated"), rate("stream-asked")),
    // of the process with the objects, with many tenants
    object_process_cpu_ms: workers(all, "workers-many")?.cpuMsPerRequest?.median ?? null,
    object_process_cpu_ms_one_tenant: workers(all, "workers-one")?.cpuMsPerRequest?.median ?? null,
    // of requests that last longer than a second
    object_process_cpu_ms_lasting: workers(all, "workers-lasting")?.cpuMsPerRequest?.median ?? null,
    workers_over_one_process: workers(all, "workers-many")?.overFront?.median ?? null,
    workers_over_one_process_one_tenant: workers(all, "workers-one")?.overFront?.median ?? null,
    // to the upstream's own
    added_p50_ms_c1: governed(all, "c1")?.addedP50Ms?.median ?? null,
    // / what the bare Worker adds
    added_p50_over_floor_c1: byFloor(all, "c1", ({ addedP50Ms }) => addedP50Ms?.median),
    // above that of the bare Worker
    waiting_request_kb: difference(heldKb(all, "governed"), heldKb(all, "floor")),
    // of long streams, so that next to nothing of it is that of a request
    stream_cpu_per_chunk_over_floor: byFloor(all, "streams-150", cpu),
    stream_cpu_per_chunk_over_floor_1000: byFloor(all, "streams-1000", cpu),
    // of the time that gaps between chunks gain or lose on the way
    stream_gap_p99_over_floor_1000: byFloor(all, "streams-1000", ({ gapMs }) => gapMs?.p99),
    guardrails_cpu_ms_4k: difference(
      figuresIn(all, "guardrails", "guarded")?.cpuMsPerRequest?.median,
      governed(all, "guardrails")?.cpuMsPerRequest?.median,
    ),
    switched_off_cpu_over_governed: figuresIn(all, "guardrails", "switched-off")?.cpuOverGoverned?.median ?? null,
  };
}

/** Upper limits of the p99, ms. */
const BOUNDS_MS = [5, 10, 50] as const;

/**
 * By target and limit: the highest rate among the loads c1, c4 ... whose corrected p99 is within the limit; null: no load
 * is.
 */
type Rates = Readonly<Partial<Record<TargetName, Readonly<Record<string, number | null>>>>>;

export function ratesWithin(all: readonly Measured[]): Rates {
  const sweep = all.filter(({ load }) => /^c\d+$/.test(load.name)).flatMap(({ figures }) => figures);
  const within = (target: TargetName, boundMs: number): number | null => {
    const rates = sweep.flatMap((figures) =>
      figures.target === target && figures.correctedMs.p99 <= boundMs && figures.rps !== null
        ? [figures.rps.median]
        : [],
    );
    return rates.length === 0 ? null : Math.max(...rates);
  };
  const targets = [...new Set(sweep.map(({ target }) => target))];
  return Object.fromEntries(
    targets.map((target) => [
      target,
      Object.fromEntries(BOUNDS_MS.map((bound) => [`p99_within_${bound}_ms`, within(target, bound)])),
    ]),
  );
}
