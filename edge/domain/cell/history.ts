/**
 * The last hour of a cell, a sample every two seconds while it is active (decisions §7.3). Samples hold only who was busy:
 * a missing sample, group or tenant means zero. Memory only; bounded by its number of samples and of tenants in each.
 */
import { NIL_UUID } from "../../../shared/usage-row.ts";
import type { SchedulerSnapshot } from "../fairshare/types.ts";

export const SAMPLE_EVERY_MS = 2_000;
export const SAMPLE_KEEP_MS = 3_600_000;
/** Tenants of one sample; the others are summed under the nil tenant. */
export const SAMPLE_MAX_TENANTS = 50;

/** Requests that hold a slot and that wait. */
interface Load {
  readonly in_flight: number;
  readonly queued: number;
}

export interface HistorySample {
  readonly ts_ms: number;
  readonly max_in_flight: number;
  readonly global_in_flight: number;
  readonly global_queued: number;
  readonly groups: readonly (Load & { readonly name: string })[];
  readonly tenants: readonly (Load & { readonly tenant_id: string; readonly name: string })[];
}

export class History {
  #samples: HistorySample[] = [];

  /** Adds the state of `nowMs`, and forgets what is older than an hour. */
  add(snapshot: SchedulerSnapshot, nowMs: number): void {
    const keepFrom = nowMs - SAMPLE_KEEP_MS;
    const stale = this.#samples.findIndex((sample) => sample.ts_ms > keepFrom);
    if (stale !== 0) this.#samples = stale === -1 ? [] : this.#samples.slice(stale);
    this.#samples.push(sampleOf(snapshot, nowMs));
  }

  /** Samples from `sinceMs` on, ascending, of the hour before `nowMs`. */
  since(sinceMs: number, nowMs: number): readonly HistorySample[] {
    const from = Math.max(sinceMs, nowMs - SAMPLE_KEEP_MS + 1);
    return this.#samples.filter((sample) => sample.ts_ms >= from);
  }
}

/** One sample of a snapshot. */
export function sampleOf(snapshot: SchedulerSnapshot, nowMs: number): HistorySample {
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
  };
}
