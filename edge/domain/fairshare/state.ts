/**
 * What the scheduler remembers of tenants, groups, models and requests. Plain records; rules are elsewhere.
 */
import type { IndexedHeap } from "./indexed-heap.ts";
import type { Arrival } from "./types.ts";

export interface Waiter {
  readonly arrival: Arrival;
  readonly arrivedMs: number;
  /** Position in the order of all arrivals. */
  readonly order: number;
  readonly tenant: TenantState;
  readonly model: ModelState;
}

export interface Running {
  readonly tenant: TenantState;
  readonly group: GroupState;
  readonly model: ModelState;
  readonly chargedTokens: number;
}

export interface ModelState {
  readonly name: string;
  admissionWeight: number;
  maxInFlight: number | null;
  inFlight: number;
  queued: number;
}

/** A tenant's waiters for one model, in order of arrival: one of its heads. */
export interface Head {
  readonly tenant: TenantState;
  readonly model: ModelState;
  readonly waiters: Map<string, Waiter>;
}

export interface TenantState {
  readonly id: string;
  readonly order: number;
  name: string;
  weight: number;
  maxInFlight: number | null;
  group: GroupState;
  inFlight: number;
  queued: number;
  served: number;
  /** By model name; only models that it waits for. */
  readonly heads: Map<string, Head>;
  /** Admission weight of the model seen last: what its slot cap is weighed with. */
  lastAdmissionWeight: number;
  lastActiveMs: number;
}

export interface GroupState {
  readonly name: string;
  readonly order: number;
  weight: number;
  inFlight: number;
  served: number;
  lastActiveMs: number;
  /** All waiters of the group, oldest first. */
  readonly waiters: Map<string, Waiter>;
}

/** Heads of one model, in order of who is next. */
export interface Lane {
  readonly model: ModelState;
  readonly heads: IndexedHeap<Head>;
}

/** w = max(1, round(weight x admission_weight / 100)) (decisions §20.1). */
export function effectiveWeight(weight: number, admissionWeight: number): number {
  return Math.max(1, Math.round((weight * admissionWeight) / 100));
}

/** served / w of a head: the smallest is next. */
export function headScore(head: Head): number {
  return head.tenant.served / effectiveWeight(head.tenant.weight, head.model.admissionWeight);
}

/** Arrival order of the first waiter of a head. */
export function headOrder(head: Head): number {
  return oldest(head.waiters)?.order ?? Number.POSITIVE_INFINITY;
}

/** The first value of an insertion-ordered map. */
export function oldest<T>(map: ReadonlyMap<string, T>): T | undefined {
  for (const value of map.values()) return value;
  return undefined;
}

/** A model or tenant below its own cap. */
export function hasRoom(state: { readonly inFlight: number; readonly maxInFlight: number | null }): boolean {
  return state.maxInFlight === null || state.inFlight < state.maxInFlight;
}
