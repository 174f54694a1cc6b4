/**
 * One request in a Cell's admission: its state, and the states that may follow. Plain records and calculations;
 * admission-machine.ts decides what happens.
 */
import type { WaitingQueue } from "../../../shared/schema/load.ts";
import { type ActualUsage, nanoUsdOf } from "../budget/amounts.ts";
import type { Arrival } from "../fairshare/types.ts";
import type { GivenUpRow } from "./given-up-rows.ts";
import type { AdmissionRequest, Decision, Settlement, SlotTaken, Stale } from "./rpc.ts";

/**
 * - `new`: it is about to enter.
 * - `waiting`: it has a place in the queue.
 * - `stale`: its turn came, but its records were outdated, or its isolate is silent. Its Worker checks it again; it keeps its
 *   place and holds no slot.
 * - `reserving`: it has a slot, or is a sub-call that needs none, and its budgets are being checked.
 * - `running`: it was granted. A sub-call runs without a slot.
 * - `refused`: it holds nothing, and its row will follow.
 * - `given up`: there is no sign that it still runs. It holds nothing; its row waits in case it does run.
 */
export type RequestState = "new" | (typeof LIVE)[number] | "given up" | "ended";

/** It holds a slot or waits for one, or was refused and has no row yet. */
const LIVE = ["waiting", "stale", "reserving", "running", "refused"] as const;

/**
 * The events of requests: the states in which each may happen, and the state that it leads to
 * (docs/architecture.md#the-states-of-a-request). In any other state it cannot happen.
 */
export const STEPS = {
  asks: { from: ["new", "stale", "given up"], to: "waiting" },
  "gets a slot": { from: ["waiting"], to: "reserving" },
  "has older records": { from: ["waiting", "stale", "reserving", "given up"], to: "stale" },
  "is granted": { from: ["reserving"], to: "running" },
  "is refused": { from: ["waiting", "reserving"], to: "refused" },
  "runs already": { from: ["new", "given up"], to: "running" },
  "is lost": { from: LIVE, to: "given up" },
  ends: { from: [...LIVE, "given up"], to: "ended" },
} as const satisfies Record<string, { readonly from: readonly RequestState[]; readonly to: RequestState }>;

export type RequestEvent = keyof typeof STEPS;

export interface AdmissionEntry {
  /** The newest admission request. */
  request: AdmissionRequest;
  /** The isolate that it belongs to. */
  readonly member: string;
  /** Changed only by {@link move}. */
  state: RequestState;
  /** When it started to wait, by this Cell's clock, epoch ms. */
  arrivedMs: number;
  /** The generation of revisions at which its records were found to be the newest (revisions.ts). */
  generation: number;
  /**
   * Null until the scheduler grants one. For a sub-call, the slot that its row states. A request that was given up keeps its
   * value.
   */
  slot: SlotTaken | null;
  /** The answer for its isolate; null while it waits. */
  answer: Decision | Stale | null;
  /** What it was charged when it was given up; null if it was not. */
  charged: ActualUsage | null;
  /** An earlier life of this Cell, or its isolate, may have written its row: a further row is compared with the log. */
  mayHaveRow: boolean;
  /** The row that is written should it not show up again; null: it was not given up. */
  loss: GivenUpRow | null;
}

/** A request that is about to enter. `charged`: by an earlier entry, whose row is written. */
export function newEntry(
  request: AdmissionRequest,
  member: string,
  arrivedMs: number,
  charged: ActualUsage | null,
): AdmissionEntry {
  const mayHaveRow = charged !== null || mayBeKnown(request);
  const nothing = { slot: null, answer: null, loss: null } as const;
  return { request, member, state: "new", arrivedMs, generation: 0, charged, mayHaveRow, ...nothing };
}

/** Moves the request on. Throws when the table has no such step, which is a defect of the gateway. */
export function move(entry: AdmissionEntry, event: RequestEvent): void {
  const { from, to }: { readonly from: readonly RequestState[]; readonly to: RequestState } = STEPS[event];
  if (!from.includes(entry.state)) throw new Error(`"${event}" cannot happen to a request that is ${entry.state}`);
  entry.state = to;
}

/** By a request that ran and got no answer: it counts as a request. */
export const USED_BY_FAILURE: ActualUsage = { tokens: 0, nanoUsd: 0 };

export function isLive({ state }: AdmissionEntry): boolean {
  return LIVE.some((live) => live === state);
}

/**
 * Whether the request moves to another model: it returns what it has, or waits for, and waits from now on. A stale one keeps
 * its place, even if that check gives it another model.
 */
export function movesOn(entry: AdmissionEntry, { model }: AdmissionRequest): boolean {
  return isLive(entry) && entry.state !== "stale" && entry.request.model.name !== model.name;
}

/** Whether a Cell may know the request from before it asks: it has waited, or an earlier message with it may have arrived. */
export function mayBeKnown({ waitedMs, again }: AdmissionRequest): boolean {
  return waitedMs !== null || again === true;
}

/** The charge of a settlement. */
export function usedBy({ row, actualTokens }: Settlement): ActualUsage {
  return { tokens: actualTokens, nanoUsd: nanoUsdOf(row.cost_usd) };
}

/**
 * Whether the request is a sub-call: it takes no slot, so the scheduler never sees it
 * (docs/rules/settlement-and-rows.md#sub-calls).
 */
export function isSubCall({ row }: AdmissionRequest): boolean {
  return row.admission === "boon";
}

/** Whether the request is a sub-call that reserves nothing, so no gate and no budget is checked. */
export function runsAtOnce(request: AdmissionRequest): boolean {
  return isSubCall(request) && request.reserves !== true;
}

/** The slot that a request got in an earlier life of its Cell. */
export function slotOf({ row: { admission, queue_wait_ms: queueWaitMs } }: AdmissionRequest): SlotTaken {
  return { admission: admission === "queued" || admission === "batch" ? admission : "fast", queueWaitMs };
}

/** The requests that the scheduler decides about. */
export function arrivalOf({ requestId, tenant, group, model, costTokens, batch }: AdmissionRequest): Arrival {
  return { requestId, tenant, group, model, costTokens, batch };
}

/** A request that holds a slot and waits for tokens or money, as operators see it. Other requests are not shown. */
export function waitingForBudget({ request, state, arrivedMs }: AdmissionEntry, nowMs: number): WaitingQueue[] {
  if (state !== "reserving") return [];
  const { tenant, group, model } = request;
  const names = { tenant_id: tenant.id, tenant: tenant.name, group: group.name, model: model.name };
  const oldestMs = Math.max(0, Math.round(nowMs - arrivedMs));
  return [{ ...names, queued: 1, oldest_wait_ms: oldestMs, reason: "budget" }];
}
