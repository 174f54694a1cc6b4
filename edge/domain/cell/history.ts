/**
 * The last hour of a Cell, with a sample every two seconds while it is active (docs/rules/fairshare.md#history). Samples
 * contain only what was busy: a missing sample, group or tenant means zero. They are written to disk a minute at a time: when
 * the minute is over, and, unfinished, when the Cell goes to rest. A reset under load loses samples that are not on disk yet,
 * at most a minute and the time between two reports.
 */
import type { CapacityReason } from "../../../shared/fields/model-fields.ts";
import { NIL_UUID } from "../../../shared/usage/usage-row.ts";
import type { SchedulerSnapshot } from "../fairshare/types.ts";
import { type RecentActivity, recentActivityOf, withEarlierActivity } from "./recent-activity.ts";

export const SAMPLE_EVERY_MS = 2_000;
export const SAMPLE_KEEP_MS = 3_600_000;
/** Tenants of one sample; the others are summed under the nil tenant. */
export const SAMPLE_MAX_TENANTS = 50;
const MINUTE_MS = 60_000;

/** Requests that hold a slot and that wait. */
interface Load {
  readonly in_flight: number;
  readonly queued: number;
}

interface SampledCapacity {
  readonly model: string;
  readonly capacity: number;
  readonly reason: CapacityReason;
}

export interface HistorySample {
  readonly ts_ms: number;
  readonly max_in_flight: number;
  readonly global_in_flight: number;
  readonly global_queued: number;
  readonly groups: readonly (Load & { readonly name: string })[];
  readonly tenants: readonly (Load & { readonly tenant_id: string; readonly name: string })[];
  /** The capacity of each model in the mode `adaptive`, and why it changed last. */
  readonly adaptive: readonly SampledCapacity[];
}

/** Samples of one minute since the epoch, ascending, and the tenants and groups that were active lately at its end. */
export interface HistoryMinute {
  readonly minute: number;
  readonly samples: readonly HistorySample[];
  readonly recent: RecentActivity;
}

/** Where minutes are kept. Calls may throw; then only the effect of that call is lost. */
export interface HistoryDisk {
  /** Every minute that is kept, ascending. */
  minutes(): readonly HistoryMinute[];
  /** The minute that was written last; null when none was. */
  lastMinute(): HistoryMinute | null;
  /** Replaces what was written for this minute. */
  write(minute: HistoryMinute): void;
}

export class History {
  readonly #disk: HistoryDisk;
  /** The samples of the hour; those of earlier lives of the object are loaded at the first read. */
  #samples: HistorySample[] = [];
  #readBack = false;
  /** Samples of minutes that are not completely on disk. */
  #unwritten: HistorySample[] = [];
  /** Time of the last sample on disk. */
  #writtenMs = Number.NEGATIVE_INFINITY;
  /** Left by an earlier life of the object: its last minute, and what was active then. */
  readonly #earlier: HistoryMinute | null;
  #last: { readonly snapshot: SchedulerSnapshot; readonly atMs: number } | null = null;

  constructor(disk: HistoryDisk) {
    this.#disk = disk;
    this.#earlier = disk.lastMinute();
  }

  /**
   * A snapshot that also has the tenants and groups that were active in the last minute before a restart or a rest
   * (docs/rules/fairshare.md#live-view).
   */
  live(snapshot: SchedulerSnapshot, nowMs: number): SchedulerSnapshot {
    return this.#earlier === null ? snapshot : withEarlierActivity(snapshot, this.#earlier.recent, nowMs);
  }

  /** Adds the state of `nowMs`, and forgets what is older than an hour. */
  add(snapshot: SchedulerSnapshot, nowMs: number, adaptive: HistorySample["adaptive"] = []): void {
    const sample = sampleOf(snapshot, nowMs, adaptive);
    this.#samples = [...within(this.#samples, nowMs), sample];
    this.#unwritten = [...within(this.#unwritten, nowMs), sample];
    this.#last = { snapshot, atMs: nowMs };
  }

  /**
   * Writes the finished minutes to disk, and with `unfinished` the current one too, each in one row. Throws what the disk
   * throws.
   */
  save(unfinished: boolean): void {
    const last = this.#unwritten.at(-1);
    if (last === undefined || this.#last === null || last.ts_ms === this.#writtenMs) return;
    const current = minuteOf(last);
    const { snapshot, atMs } = this.#last;
    const recent = recentActivityOf(this.live(snapshot, atMs));
    for (const [minute, samples] of Map.groupBy(this.#unwritten, minuteOf)) {
      if (minute === current && !unfinished) return;
      const first = samples[0]?.ts_ms ?? 0;
      const before = this.#earlier?.minute === minute ? this.#earlier.samples : [];
      const whole = [...before.filter((sample) => sample.ts_ms < first), ...samples];
      this.#disk.write({ minute, samples: whole, recent });
      this.#writtenMs = samples.at(-1)?.ts_ms ?? this.#writtenMs;
      // An unfinished minute is written again as it continues.
      if (minute !== current) this.#unwritten = this.#unwritten.filter((sample) => minuteOf(sample) !== minute);
    }
  }

  /** Samples from `sinceMs` on, ascending, of the hour before `nowMs`, including earlier lives of the object. */
  since(sinceMs: number, nowMs: number): readonly HistorySample[] {
    if (!this.#readBack) {
      const first = this.#samples[0]?.ts_ms ?? Number.POSITIVE_INFINITY;
      const earlier = this.#disk.minutes().flatMap((minute) => minute.samples);
      this.#samples = [...earlier.filter((sample) => sample.ts_ms < first), ...this.#samples];
      this.#readBack = true;
    }
    return within(this.#samples, nowMs).filter((sample) => sample.ts_ms >= sinceMs);
  }
}

function minuteOf(sample: HistorySample): number {
  return Math.floor(sample.ts_ms / MINUTE_MS);
}

/** The samples of the hour before `nowMs`. */
function within(samples: readonly HistorySample[], nowMs: number): HistorySample[] {
  return samples.filter((sample) => sample.ts_ms > nowMs - SAMPLE_KEEP_MS);
}

/** One sample of a snapshot. */
export function sampleOf(
  snapshot: SchedulerSnapshot,
  nowMs: number,
  adaptive: HistorySample["adaptive"] = [],
): HistorySample {
  const isBusy = (entry: { inFlight: number; queued: number }) => entry.inFlight + entry.queued > 0;
  const tenants = snapshot.tenants
    .filter(isBusy)
    .map((entry) => ({
      tenant_id: entry.tenantId,
      name: entry.name,
      in_flight: entry.inFlight,
      queued: entry.queued,
    }))
    .sort((a, b) => b.in_flight + b.queued - (a.in_flight + a.queued));
  const rest = tenants.splice(SAMPLE_MAX_TENANTS);
  if (rest.length > 0) {
    const sum = (pick: (load: Load) => number) => rest.reduce((total, load) => total + pick(load), 0);
    tenants.push({
      tenant_id: NIL_UUID,
      name: "",
      in_flight: sum((load) => load.in_flight),
      queued: sum((load) => load.queued),
    });
  }
  return {
    ts_ms: nowMs,
    max_in_flight: snapshot.maxInFlight,
    global_in_flight: snapshot.inFlight,
    global_queued: snapshot.queued,
    groups: snapshot.groups.filter(isBusy).map(({ name, inFlight, queued }) => ({ name, in_flight: inFlight, queued })),
    tenants,
    adaptive,
  };
}
