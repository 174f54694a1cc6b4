/** The figures by which runs are compared, and what a sweep over concurrency says of rates that may be had. Pure. */
import type { Figures } from "./figures.ts";
import type { Load, TargetName } from "./loads.ts";

/** One load with the figures of its targets. */
export interface Measured {
  readonly load: Load;
  readonly figures: readonly Figures[];
}

/** Medians over the rounds; null where a target was not measured. */
export interface Summary {
  readonly governed_over_floor_c1: number | null;
  readonly governed_over_floor_c16: number | null;
  readonly governed_over_floor_c32: number | null;
  readonly governed_over_floor_c64: number | null;
  readonly governed_over_peer_c32: number | null;
  /** Streams a second, unpaced and with the usage asked for, by those of the bare Worker, which passes them on natively. */
  readonly stream_over_native: number | null;
  /** CPU time of the process with the objects, one request of many tenants, ms; and of one tenant. */
  readonly object_process_cpu_ms: number | null;
  readonly object_process_cpu_ms_one_tenant: number | null;
  /** Throughput with several Worker processes by that of one process, both through their fronts. */
  readonly workers_over_one_process: number | null;
  readonly workers_over_one_process_one_tenant: number | null;
  /** What the gateway adds to the upstream's own p50, one request at a time, ms. */
  readonly added_p50_ms_c1: number | null;
}

const workers = (all: readonly Measured[], name: string): Figures | undefined =>
  all.find(({ load }) => load.name === name)?.figures.find(({ target }) => target === "workers");

const governed = (all: readonly Measured[], name: string): Figures | undefined =>
  all.find(({ load }) => load.name === name)?.figures.find(({ target }) => target === "governed");

/** The summary of a run. */
export function summaryOf(all: readonly Measured[]): Summary {
  const overFloor = (name: string): number | null => governed(all, name)?.overFloor?.median ?? null;
  return {
    governed_over_floor_c1: overFloor("c1"),
    governed_over_floor_c16: overFloor("c16"),
    governed_over_floor_c32: overFloor("c32"),
    governed_over_floor_c64: overFloor("c64"),
    governed_over_peer_c32: governed(all, "c32")?.overPeer?.median ?? null,
    stream_over_native: overFloor("stream-asked"),
    object_process_cpu_ms: workers(all, "workers-many")?.cpuMsPerRequest?.median ?? null,
    object_process_cpu_ms_one_tenant: workers(all, "workers-one")?.cpuMsPerRequest?.median ?? null,
    workers_over_one_process: workers(all, "workers-many")?.overFront?.median ?? null,
    workers_over_one_process_one_tenant: workers(all, "workers-one")?.overFront?.median ?? null,
    added_p50_ms_c1: governed(all, "c1")?.addedP50Ms?.median ?? null,
  };
}

/** Bounds on the p99, ms. */
const BOUNDS_MS = [5, 10, 50] as const;

/** By target: the highest rate among the loads c1, c4 ... whose corrected p99 keeps each bound; null: none does. */
export type Rates = Readonly<Partial<Record<TargetName, Readonly<Record<string, number | null>>>>>;

/** Reads the sweep. */
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
