/**
 * The events and answers of the scheduler (docs/rules/fairshare.md#choosing-the-next). Pure data. The state machine behind
 * it has two policies, weighted and hierarchical; callers see no difference.
 */
import type { FairshareAlgorithm } from "../../../shared/fairshare/entitled-slots.ts";
import type { CapacityBounds } from "../../../shared/fields/model-fields.ts";
import type { AdaptiveCapacity, WaitingQueue } from "../../../shared/schema/load.ts";

/** A request that wants a slot. Weights, caps and names are those of its own records: the newest value counts. */
export interface Arrival {
  readonly requestId: string;
  readonly tenant: {
    readonly id: string;
    readonly name: string;
    readonly weight: number;
    readonly maxInFlight: number | null;
  };
  readonly group: { readonly name: string; readonly weight: number };
  readonly model: {
    readonly name: string;
    readonly admissionWeight: number;
    readonly maxInFlight: number | null;
    /** Between which the Cell moves the capacity, from `maxInFlight` on; null or absent: it is fixed. */
    readonly adaptive?: CapacityBounds | null;
  };
  /** Charged at grant, at least 1. */
  readonly costTokens: number;
  /** A line of a batch: it gets a slot only while nothing else waits, and is charged to no share (docs/rules/batches.md#slots). */
  readonly batch?: boolean | undefined;
}

/** Everything that can happen to a scheduler. `nowMs` is an argument of {@link Scheduler.apply}. */
export type SchedulerEvent =
  /**
   * A request wants a slot. A deferred request comes back to its place. One that waited for `waitedMs` before a reset of the
   * Cell continues to wait, ahead of later arrivals; one that was given up waits behind those that are already here.
   */
  | { readonly type: "arrive"; readonly arrival: Arrival; readonly waitedMs?: number | null }
  /**
   * A granted request must be checked again before it may start: its slot comes back, its charge is undone, it keeps its
   * place.
   */
  | { readonly type: "defer"; readonly requestId: string }
  /** Nobody may be there to check a deferred request again: it holds up no other request. Does nothing for any other request. */
  | { readonly type: "unheard"; readonly requestId: string }
  /** A waiting request left. Does nothing for a request that is not waiting. */
  | { readonly type: "leave"; readonly requestId: string }
  /** A granted request ended: its slot comes back, its charge is corrected to `actualTokens` (0 = full refund). */
  | { readonly type: "release"; readonly requestId: string; readonly actualTokens: number }
  /** Counts a slot that was in use before the scheduler was reset, even above the cap. */
  | { readonly type: "adopt"; readonly arrival: Arrival }
  | { readonly type: "capacity"; readonly maxInFlight: number }
  /** New weights and caps of records, effective on waiting requests at once. */
  | {
      readonly type: "tenant";
      readonly id: string;
      readonly weight?: number;
      readonly maxInFlight?: number | null;
      readonly group?: { readonly name: string; readonly weight: number };
    }
  | { readonly type: "group"; readonly name: string; readonly weight: number }
  | {
      readonly type: "model";
      readonly name: string;
      readonly admissionWeight?: number;
      readonly maxInFlight?: number | null;
      readonly adaptive?: CapacityBounds | null;
    }
  /** Holds back every grant (after a reset, while slots are adopted), or resumes granting. */
  | { readonly type: "hold"; readonly on: boolean };

/** A grant that an event caused, in order. `queueWaitMs` is 0 when it was granted in the turn of its arrival. */
export interface SchedulerGrant {
  readonly requestId: string;
  readonly admission: "fast" | "queued" | "batch";
  readonly queueWaitMs: number;
}

export interface GroupSnapshot {
  readonly name: string;
  readonly weight: number;
  readonly inFlight: number;
  readonly queued: number;
  readonly slotCap: number;
  readonly servedTokens: number;
  readonly shareScore: number;
  readonly weightShare: number;
  readonly expectedSlots: number;
  /** Epoch ms; while something is queued or in flight, the time of the snapshot. */
  readonly lastActiveMs: number;
}

export interface TenantSnapshot {
  readonly tenantId: string;
  readonly name: string;
  readonly fairshareGroup: string;
  readonly weight: number;
  readonly inFlight: number;
  readonly queued: number;
  readonly maxInFlight: number | null;
  readonly servedTokens: number;
  readonly shareScore: number;
  readonly weightShare: number;
  readonly expectedSlots: number;
  /** Epoch ms; while something is queued or in flight, the time of the snapshot. */
  readonly lastActiveMs: number;
}

/**
 * The live view (docs/rules/fairshare.md#live-view). Groups and tenants that are queued, in flight, or were within the
 * last 60 s; sorted by name.
 */
export interface SchedulerSnapshot {
  readonly algorithm: FairshareAlgorithm;
  readonly maxInFlight: number;
  /** How many of the slots are headroom. */
  readonly headroom: number;
  /** Lines of batches included. */
  readonly inFlight: number;
  readonly queued: number;
  /** Lines of batches that hold a slot. */
  readonly batchInFlight: number;
  /** Lines of batches that wait for an idle slot; no request waits behind them. */
  readonly batchQueued: number;
  readonly groups: readonly GroupSnapshot[];
  readonly tenants: readonly TenantSnapshot[];
  readonly modelInFlight: Readonly<Record<string, number>>;
  readonly modelQueued: Readonly<Record<string, number>>;
}

/** The live view, with the queues that a limit holds up (docs/rules/fairshare.md#why-a-request-waits). */
export interface LiveSnapshot extends SchedulerSnapshot {
  readonly waiting: readonly WaitingQueue[];
  /** Of the models in the mode `adaptive`. */
  readonly adaptive: readonly AdaptiveCapacity[];
}

/** One scheduler of one cell. Deterministic: the same events at the same times give the same grants. */
export interface Scheduler {
  /** Applies one event and dispatches until no head can be granted; returns the grants it caused, in order. */
  apply(event: SchedulerEvent, nowMs: number): readonly SchedulerGrant[];
  /**
   * The requests that were deferred at their turn since the last call, in order: each keeps its place and is not granted
   * until it arrives again.
   */
  takeDeferred(): readonly string[];
  readonly inFlight: number;
  /** Of those, slots that lines of batches hold. */
  readonly batchInFlight: number;
  /** Waiting requests, deferred ones included. */
  readonly queued: number;
  /** Waiting requests of one tenant, deferred ones included; 0 for an unknown tenant. */
  queuedOf(tenantId: string): number;
  /** How many requests of one tenant hold a slot. */
  inFlightBy(tenantId: string): number;
  /** How many requests of one model hold a slot. */
  inFlightOf(modelName: string): number;
  /** How many requests of each model hold a slot; models without one are left out. */
  inFlightByModel(): readonly (readonly [modelName: string, inFlight: number])[];
  readonly maxInFlight: number;
  /** How many of the slots are headroom. */
  readonly headroom: number;
  snapshot(nowMs: number): SchedulerSnapshot;
  /** Every queue that a limit holds up, in no particular order. A queue whose turn it is has no limit and is left out. */
  waiting(nowMs: number): readonly WaitingQueue[];
}

export interface SchedulerOptions {
  readonly algorithm: FairshareAlgorithm;
  readonly maxInFlight: number;
  /** The part of the slots that is headroom, 0 to 0.5 (docs/rules/fairshare.md#headroom); by default none. */
  readonly headroom?: number;
  /** Called before a slot is given to a request; without a check every request may have one. */
  readonly grantCheck?: GrantCheck;
  /** The current capacity of a model; by default the stated one. */
  readonly capOf?: (model: Omit<Arrival["model"], "admissionWeight">) => number | null;
  /**
   * Called whenever two competitors are compared, or a competitor or bottleneck is examined: the work of a decision,
   * without a clock.
   */
  readonly probe?: () => void;
}

/** Whether waiting requests may still get what they requested (docs/rules/admission.md#checked-again). */
export interface GrantCheck {
  /** False: the request must not be granted a slot before it has been checked again; at its turn it is deferred. */
  mayHave(requestId: string): boolean;
  /** Whether nobody may be there to check the request again: it is deferred, and holds up no other request. */
  isUnheard?(requestId: string): boolean;
}
