/** The scheduler's state of tenants, groups, models and requests. Plain records; the rules are elsewhere. */
import { effectiveWeight } from "../../../shared/fairshare/entitled-slots.ts";
import { IndexedHeap } from "../../../shared/fairshare/indexed-heap.ts";
import type { ServedScore } from "./served-score.ts";
import type { Arrival } from "./types.ts";

export interface Waiter {
  readonly arrival: Arrival;
  /** Epoch ms; of a request that waited before, earlier than its place in the queue suggests. */
  readonly arrivedMs: number;
  /** Position in the order of all arrivals. */
  readonly order: number;
  /** It has waited before: a grant at once after its arrival is not fast. */
  readonly returning: boolean;
  readonly tenant: TenantState;
  readonly model: ModelState;
}

/** The full model that requests compete for; null: the shared bottleneck, the slots of the Cell (bottleneck-scores.ts). */
export type Bottleneck = ModelState | null;

/** The charge of a grant, and its bottleneck. */
export interface Charge {
  readonly tokens: number;
  /** Effective weight of the tenant with the request's model, and weight of the group, at the grant. */
  readonly weight: number;
  readonly groupWeight: number;
  /** Position among all events. */
  readonly at: number;
  readonly bottleneck: Bottleneck;
  /** The Cell was full: charged at every bottleneck. */
  readonly everywhere: boolean;
}

export interface Running {
  readonly waiter: Waiter;
  readonly group: GroupState;
  readonly charge: Charge;
  /** The model's, at the grant. */
  readonly admissionWeight: number;
}

/** Waiters, the oldest first. */
type WaiterQueue = IndexedHeap<Waiter>;

export interface ModelState {
  readonly name: string;
  admissionWeight: number;
  maxInFlight: number | null;
  /** Lines of batches included. */
  inFlight: number;
  queued: number;
  /** One head of every tenant that waits for it. */
  readonly heads: Set<Head>;
  /** It was full while requests waited for it, and some still wait: its heads compete at a separate bottleneck. */
  isBottleneck: boolean;
  /** How often it became a bottleneck. */
  bottleneckPeriods: number;
  /** How often it was found full. */
  timesFull: number;
}

/** A tenant's waiters for one model, in order of arrival: one of its heads. */
export interface Head {
  readonly tenant: TenantState;
  readonly model: ModelState;
  readonly waiters: WaiterQueue;
  /** The bottleneck at which its pool has placed it last (tenant-pool.ts). */
  bottleneck: Bottleneck;
  witness: ModelState | null;
}

export interface TenantState {
  readonly id: string;
  name: string;
  weight: number;
  maxInFlight: number | null;
  group: GroupState;
  inFlight: number;
  /** Slots that lines of its batches hold: they count for its cap, and for no share. */
  linesInFlight: number;
  /** Lines of its batches that wait or hold a slot. */
  linesKnown: number;
  /** Requests that wait, deferred ones included. */
  queued: number;
  /**
   * Of those, the requests whose records are being read again: they keep their places and cannot be granted. Requests of silent
   * isolates are not counted.
   */
  deferred: number;
  /**
   * No request of it is granted until one of its deferred requests is back, because as many are deferred as it could have
   * slots.
   */
  passedOver: boolean;
  /** The score at the shared bottleneck, in this busy period. */
  served: ServedScore;
  /**
   * The use of its requests, including estimates of those in flight, in this busy period; only for display, no decision depends
   * on it.
   */
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
  weight: number;
  inFlight: number;
  /** Requests that wait, deferred ones included. */
  queued: number;
  /** The score at the shared bottleneck, in this busy period. */
  served: ServedScore;
  /**
   * The use of its requests, including estimates of those in flight, in this busy period; only for display, no decision depends
   * on it.
   */
  servedTokens: number;
  busyPeriod: number;
  lastActiveMs: number;
  /** All waiting requests of the group except deferred ones. */
  readonly waiters: WaiterQueue;
}

/** The effective weight of a tenant with a model. */
export function weightOf(tenant: TenantState, model: ModelState): number {
  return effectiveWeight(tenant.weight, model.admissionWeight);
}

export function waiterQueue(): WaiterQueue {
  return new IndexedHeap<Waiter>((a, b) => a.order - b.order);
}

/** The arrival order of the oldest waiting request; Infinity if none waits. */
export function oldestOrder(waiters: WaiterQueue): number {
  return waiters.peek()?.order ?? Number.POSITIVE_INFINITY;
}

/** The bottleneck at which requests for a model compete. */
export function bottleneckOf(model: ModelState): Bottleneck {
  return model.isBottleneck ? model : null;
}

const NO_LINES: ReadonlySet<Bottleneck> = new Set();

/** The bottlenecks at which a tenant competes. */
export function bottlenecksOf(tenant: TenantState): ReadonlySet<Bottleneck> {
  if (tenant.heads.size === 0) return NO_LINES;
  return new Set([...tenant.heads.values()].map(({ model }) => bottleneckOf(model)));
}

/** True when the model of a head does not prevent a grant. */
export function isUnobstructed(model: ModelState): boolean {
  return !model.isBottleneck || hasRoom(model);
}

/** True when the tenant waits or holds a slot. */
export function isActive(tenant: TenantState): boolean {
  return tenant.inFlight > 0 || tenant.queued > 0;
}

/** True when the group waits or holds a slot. */
export function isActiveGroup(group: GroupState): boolean {
  return group.inFlight > 0 || group.queued > 0;
}

/** True when a model or tenant is below its own cap. */
export function hasRoom(state: Capped): boolean {
  return slotsLeft(state) > 0;
}

/** How many more requests a model or tenant may have in flight: infinite without a cap, and negative after one was lowered. */
export function slotsLeft({ inFlight, maxInFlight, linesInFlight = 0 }: Capped): number {
  return (maxInFlight ?? Number.POSITIVE_INFINITY) - inFlight - linesInFlight;
}

type Capped = Pick<ModelState, "inFlight" | "maxInFlight"> & Partial<Pick<TenantState, "linesInFlight">>;
