/**
 * Slots in use over the last hour as series of a chart, from the samples of a cell (docs/rules/fairshare.md#history) and from
 * the live views that were read since. Pure.
 */
import type { FairshareLive, FairshareSample } from "../../../shared/schema/load.ts";

/** A cell takes a sample this often while something happens. */
const SAMPLE_MS = 2000;
/** More live views than this are not kept: the history is read anew long before. */
const LIVE_MAX = 200;

/** How long a chart looks back, and how long each of its points is; ms. */
export const RANGES = {
  "15m": { lengthMs: 900_000, stepMs: 10_000 },
  "1h": { lengthMs: 3_600_000, stepMs: 30_000 },
} as const;
export type RangeName = keyof typeof RANGES;

/** Identifier of the series of lines of batches: no group has this name. */
export const BATCHES_ID = "\0";

/** What colours stand for. */
export type Division = "group" | "tenant";

/** A live view as a sample of the history. */
export function sampleOf(live: FairshareLive): FairshareSample {
  const { ts_ms, max_in_flight, global_in_flight, global_queued, groups, tenants, adaptive } = live;
  return {
    ts_ms,
    max_in_flight,
    global_in_flight,
    global_queued,
    groups: groups.map(({ name, in_flight, queued }) => ({ name, in_flight, queued })),
    tenants: tenants.map(({ tenant_id, name, in_flight, queued }) => ({ tenant_id, name, in_flight, queued })),
    adaptive: adaptive.map(({ model, capacity, changes }) => ({
      model,
      capacity,
      reason: changes[0]?.reason ?? "start",
    })),
  };
}

/** The views read so far with a newer one; the same one twice is one. */
export function withSample(kept: readonly FairshareSample[], sample: FairshareSample): readonly FairshareSample[] {
  const last = kept.at(-1);
  if (last !== undefined && last.ts_ms >= sample.ts_ms) return kept;
  return [...kept.slice(-(LIVE_MAX - 1)), sample];
}

/** The history, and after its end the live views; ascending. */
export function joinedSamples(
  history: readonly FairshareSample[],
  live: readonly FairshareSample[],
): readonly FairshareSample[] {
  const endMs = history.reduce((last, { ts_ms }) => Math.max(last, ts_ms), Number.NEGATIVE_INFINITY);
  return [...history, ...live.filter(({ ts_ms }) => ts_ms > endMs)];
}

/** One area of the chart. */
interface SlotsSeries {
  /** Name of the group, id of the tenant; the nil UUID: the tenants that a sample adds up. */
  readonly id: string;
  readonly name: string;
  /** Mean of slots in use, one for each point. */
  readonly values: readonly number[];
}

interface SlotsHistory {
  /** Beginning of each point, epoch ms. */
  readonly atMs: readonly number[];
  readonly series: readonly SlotsSeries[];
  /** Mean of the requests that waited, one for each point. */
  readonly queued: readonly number[];
}

interface Sums {
  readonly name: string;
  readonly values: number[];
}

/**
 * Points of equal length up to the one that holds `nowMs`, each with the mean over its samples; a sample that is missing counts
 * as zero, as the cell means it. Who had no slot in all that time is left out; by name.
 */
export function slotsHistory(
  samples: readonly FairshareSample[],
  range: RangeName,
  division: Division,
  nowMs: number,
): SlotsHistory {
  const { lengthMs, stepMs } = RANGES[range];
  const points = lengthMs / stepMs;
  const firstMs = (Math.floor(nowMs / stepMs) - points + 1) * stepMs;
  const counts = Array.from({ length: points }, () => 0);
  const queued = Array.from({ length: points }, () => 0);
  const sums = new Map<string, Sums>();
  for (const sample of samples) {
    const at = Math.floor((sample.ts_ms - firstMs) / stepMs);
    if (!(at >= 0 && at < points)) continue;
    counts[at] = (counts[at] ?? 0) + 1;
    queued[at] = (queued[at] ?? 0) + sample.global_queued;
    for (const { id, name, slots } of partsOf(sample, division)) {
      if (slots <= 0) continue;
      const known = sums.get(id);
      const own = known ?? { name, values: Array.from({ length: points }, () => 0) };
      if (known === undefined) sums.set(id, own);
      own.values[at] = (own.values[at] ?? 0) + slots;
    }
  }
  const divisors = counts.map((count, at) => {
    const passedMs = Math.min(stepMs, nowMs - (firstMs + at * stepMs));
    return Math.max(1, count, Math.floor(passedMs / SAMPLE_MS));
  });
  const means = (values: readonly number[]): readonly number[] =>
    values.map((value, at) => Math.round((100 * value) / (divisors[at] ?? 1)) / 100);
  return {
    atMs: Array.from({ length: points }, (_, at) => firstMs + at * stepMs),
    series: [...sums]
      .map(([id, { name, values }]) => ({ id, name, values: means(values) }))
      .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)),
    queued: means(queued),
  };
}

/** Slots by share, and those of lines of batches, which are in none. */
function partsOf(
  { groups, tenants, global_in_flight }: FairshareSample,
  division: Division,
): readonly { readonly id: string; readonly name: string; readonly slots: number }[] {
  const inShares = groups.reduce((sum, { in_flight }) => sum + in_flight, 0);
  const shares =
    division === "group"
      ? groups.map(({ name, in_flight }) => ({ id: name, name, slots: in_flight }))
      : tenants.map(({ tenant_id, name, in_flight }) => ({ id: tenant_id, name, slots: in_flight }));
  return [...shares, { id: BATCHES_ID, name: "", slots: global_in_flight - inShares }];
}
