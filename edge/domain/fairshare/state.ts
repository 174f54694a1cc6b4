/**
 * What the scheduler remembers of tenants, groups, models and requests. Plain records; rules are elsewhere.
 */
import type { IndexedHeap } from "./indexed-heap.ts";
import type { Arrival } from "./types.ts";
import type { Queued, WaiterQueue } from "./waiter-queue.ts";

export interface Waiter extends Queued {
  readonly arrival: Arrival;
  readonly arrivedMs: number;
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
  /** Slots that are lent for it. */
  lent: number;
  queued: number;
  /** Of every tenant that waits for it. */
  readonly heads: Set<Head>;
  /** It was full while somebody waited for it, and somebody still does: its heads stand in lanes of their own. */
  watched: boolean;
}

/** A tenant's waiters for one model, in order of arrival: one of its heads. */
export interface Head {
  readonly tenant: TenantState;
  readonly model: ModelState;
  readonly waiters: WaiterQueue<Waiter>;
}

export interface TenantState {
  readonly id: string;
  readonly order: number;
  name: string;
  weight: number;
  maxInFlight: number | null;
  group: GroupState;
  inFlight: number;
  /** Slots that are lent to it. They make it neither active nor served. */
  lent: number;
  queued: number;
  /** Tokens in this spell of work; what was served in an earlier one counts as 0 (see {@link settled}). */
  served: number;
  spell: number;
  /** By model name; only models that it waits for. */
  readonly heads: Map<string, Head>;
  readonly headsByArrival: IndexedHeap<Head>;
  /** The model it asked for last: its slot cap is weighed with that one's admission weight. */
  lastModel: ModelState;
  lastActiveMs: number;
}

export interface GroupState {
  readonly name: string;
  readonly order: number;
  weight: number;
  inFlight: number;
  served: number;
  spell: number;
  lastActiveMs: number;
  /** All waiters of the group. */
  readonly waiters: WaiterQueue<Waiter>;
}

/** w = max(1, round(weight x admission_weight / 100)) (decisions §20.1). */
export function effectiveWeight(weight: number, admissionWeight: number): number {
  return Math.max(1, Math.round((weight * admissionWeight) / 100));
}

/** The effective weight of a tenant with the model it asked for last. */
export function lastWeight(tenant: TenantState, weight = tenant.weight): number {
  return effectiveWeight(weight, tenant.lastModel.admissionWeight);
}

/** served / w of a head: the smallest is next. */
export function headScore({ tenant, model }: Pick<Head, "tenant" | "model">): number {
  return tenant.served / effectiveWeight(tenant.weight, model.admissionWeight);
}

/** Waits or holds a slot. */
export function isActive(tenant: TenantState): boolean {
  return tenant.inFlight > 0 || tenant.queued > 0;
}

/** Waits or holds a slot. */
export function isActiveGroup(group: GroupState): boolean {
  return group.inFlight > 0 || group.waiters.size > 0;
}

/** A model or tenant below its own cap, lent slots included. */
export function hasRoom(state: Pick<ModelState, "inFlight" | "lent" | "maxInFlight">): boolean {
  return state.maxInFlight === null || state.inFlight + state.lent < state.maxInFlight;
}
