/**
 * What the scheduler remembers of tenants, groups, models and requests. Plain records; rules are elsewhere.
 */
import { IndexedHeap } from "./indexed-heap.ts";
import type { ServedScore } from "./served-score.ts";
import type { Arrival } from "./types.ts";

export interface Waiter {
  readonly arrival: Arrival;
  /** Epoch ms; earlier than its turn in the queue for one that waited before. */
  readonly arrivedMs: number;
  /** Position in the order of all arrivals. */
  readonly order: number;
  /** It has waited before: a grant in the turn of its arrival is not fast. */
  readonly returning: boolean;
  readonly tenant: TenantState;
  readonly model: ModelState;
}

/** The watched model that a line is behind; null: the open line (bottleneck-scores.ts). */
export type Bottleneck = ModelState | null;

/** What a grant was charged, and where. */
export interface Charge {
  readonly tokens: number;
  /** Of the tenant with the request's model, and of the group, when it was granted. */
  readonly weight: number;
  readonly groupWeight: number;
  /** Position among all events. */
  readonly at: number;
  readonly bottleneck: Bottleneck;
  /** The cell was full: charged in every line. */
  readonly everywhere: boolean;
}

export interface Running {
  readonly waiter: Waiter;
  readonly group: GroupState;
  readonly charge: Charge;
  /** Of its model, when it was granted. */
  readonly admissionWeight: number;
}

/** Waiters, the oldest first. */
type WaiterQueue = IndexedHeap<Waiter>;

export interface ModelState {
  readonly name: string;
  admissionWeight: number;
  maxInFlight: number | null;
  inFlight: number;
  queued: number;
  /** Of every tenant that waits for it. */
  readonly heads: Set<Head>;
  /** It was full while somebody waited for it, and somebody still does: its heads stand in a line of their own. */
  isBottleneck: boolean;
  /** How often it became watched. */
  bottleneckPeriods: number;
  /** How often it was found full. */
  timesFull: number;
}

/** A tenant's waiters for one model, in order of arrival: one of its heads. */
export interface Head {
  readonly tenant: TenantState;
  readonly model: ModelState;
  readonly waiters: WaiterQueue;
  /** Where its pool has put it last (tenant-pool.ts). */
  bottleneck: Bottleneck;
  witness: ModelState | null;
}

export interface TenantState {
  readonly id: string;
  readonly order: number;
  name: string;
  weight: number;
  maxInFlight: number | null;
  group: GroupState;
  inFlight: number;
  /** Requests that wait, deferred ones included. */
  queued: number;
  /** Of those, the ones whose records are being read anew: they keep their places, and cannot be granted. */
  deferred: number;
  /** Nothing of it is granted until one of its deferred requests is back: as many are away as slots are free. */
  passedOver: boolean;
  /** In the open line, in this busy period. */
  served: ServedScore;
  /** What its requests used, estimates of those in flight included, in this busy period: shown, and nothing else. */
  servedTokens: number;
  busyPeriod: number;
  /** By model name; only models that it waits for. */
  readonly heads: Map<string, Head>;
  readonly headsByArrival: IndexedHeap<Head>;
  /** Sum of the admission weights with which its requests in flight were granted. */
  runningWeights: number;
  lastActiveMs: number;
}

export interface GroupState {
  readonly name: string;
  readonly order: number;
  weight: number;
  inFlight: number;
  /** Requests that wait, deferred ones included. */
  queued: number;
  /** In the open line, in this busy period. */
  served: ServedScore;
  /** What its requests used, estimates of those in flight included, in this busy period: shown, and nothing else. */
  servedTokens: number;
  busyPeriod: number;
  lastActiveMs: number;
  /** All waiters of the group but deferred ones. */
  readonly waiters: WaiterQueue;
}

/** w = max(1, round(weight x admission_weight / 100)) (docs/rules/fairshare.md#cost-and-weight). */
export function effectiveWeight(weight: number, admissionWeight: number): number {
  return Math.max(1, Math.round((weight * admissionWeight) / 100));
}

/** The effective weight of a tenant with a model. */
export function weightOf(tenant: TenantState, model: ModelState): number {
  return effectiveWeight(tenant.weight, model.admissionWeight);
}

export function waiterQueue(): WaiterQueue {
  return new IndexedHeap<Waiter>((a, b) => a.order - b.order);
}

/** The arrival order of the oldest; infinite when nobody waits. */
export function oldestOrder(waiters: WaiterQueue): number {
  return waiters.peek()?.order ?? Number.POSITIVE_INFINITY;
}

/** The line in which one competes who waits for a model. */
export function bottleneckOf(model: ModelState): Bottleneck {
  return model.isBottleneck ? model : null;
}

const NO_LINES: ReadonlySet<Bottleneck> = new Set();

/** The lines in which a tenant waits. */
export function bottlenecksOf(tenant: TenantState): ReadonlySet<Bottleneck> {
  if (tenant.heads.size === 0) return NO_LINES;
  return new Set([...tenant.heads.values()].map(({ model }) => bottleneckOf(model)));
}

/** Nothing in its model is in the way of a head. */
export function isUnobstructed(model: ModelState): boolean {
  return !model.isBottleneck || hasRoom(model);
}

/** Waits or holds a slot. */
export function isActive(tenant: TenantState): boolean {
  return tenant.inFlight > 0 || tenant.queued > 0;
}

/** Waits or holds a slot. */
export function isActiveGroup(group: GroupState): boolean {
  return group.inFlight > 0 || group.queued > 0;
}

/** A model or tenant below its own cap. */
export function hasRoom(state: Pick<ModelState, "inFlight" | "maxInFlight">): boolean {
  return state.maxInFlight === null || state.inFlight < state.maxInFlight;
}
