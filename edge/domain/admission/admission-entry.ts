/**
 * One request in a Cell's admission: its state, and what may follow it. Plain records and calculations; admission-machine.ts
 * decides what happens.
 */
import type { WaitingQueue } from "../../../shared/schema/load.ts";
import type { UsageRow } from "../../../shared/usage-row.ts";
import { type ActualUsage, nanoUsdOf } from "../budget/amounts.ts";
import type { Arrival } from "../fairshare/types.ts";
import type { AdmissionRequest, Decision, Settlement, SlotTaken, Stale } from "./rpc.ts";

/**
 * - `waiting`: it has a place in the queue.
 * - `judged again`: its turn came, and its records were not the newest, or its isolate is not heard; it keeps its place.
 * - `reserving`: it has a slot, and its budgets are asked.
 * - `running`: it was granted. A sub-call runs without a slot.
 * - `refused`: it holds nothing, and its row is to come.
 * - `given up`: nothing shows any more that it lives. It holds nothing; its row waits in case it does.
 */
export type RequestState = "waiting" | "judged again" | "reserving" | "running" | "refused" | "given up" | "ended";

/** What may follow each state (docs/architecture.md#the-states-of-a-request). */
export const NEXT: Readonly<Record<RequestState, readonly RequestState[]>> = {
  waiting: ["reserving", "judged again", "refused", "given up", "ended"],
  "judged again": ["waiting", "given up", "ended"],
  reserving: ["running", "refused", "judged again", "given up", "ended"],
  running: ["given up", "ended"],
  refused: ["given up", "ended"],
  "given up": ["waiting", "judged again", "running", "ended"],
  ended: [],
};

/** A request that was given up. */
export interface Loss {
  readonly row: UsageRow;
  /** Whether it was running, so that its isolate may count it as such. */
  readonly ran: boolean;
  /** When the row is written, epoch ms. */
  readonly dueMs: number;
}

export interface AdmissionEntry {
  /** The newest admission request. */
  request: AdmissionRequest;
  /** The isolate that it belongs to. */
  readonly member: string;
  /** The number of the newest message that was about it. */
  said: number;
  /** Null: it is about to enter. Changed only by {@link become}. */
  state: RequestState | null;
  /** When it began to wait, by this Cell's clock, epoch ms. */
  arrivedMs: number;
  /** The generation of revisions at which its records were found to be the newest (revisions.ts). */
  generation: number;
  /** Null until the scheduler grants one; of a sub-call, what its row says of a slot. */
  slot: SlotTaken | null;
  /** What its isolate is to be told; null while it waits. */
  answer: Decision | Stale | null;
  /** What it was charged when it was given up; null: it was not. */
  charged: ActualUsage | null;
  /** An earlier life of this Cell, or its isolate, may have written its row: a further row is compared with the log. */
  mayHaveRow: boolean;
  /** What becomes of it, should it not show up again; null: it was not given up. */
  loss: Loss | null;
}

/** A request that is about to enter. `charged`: by an earlier entry, whose row is written. */
export function newEntry(
  request: AdmissionRequest,
  member: string,
  arrivedMs: number,
  charged: ActualUsage | null,
): AdmissionEntry {
  const mayHaveRow = charged !== null || request.waitedMs !== null || request.again === true;
  const nothing = { slot: null, answer: null, loss: null } as const;
  return { request, member, said: 0, state: null, arrivedMs, generation: 0, charged, mayHaveRow, ...nothing };
}

/** Moves the request on. Throws when the table has no such step, which is a defect of the gateway. */
export function become(entry: AdmissionEntry, state: RequestState): void {
  if (entry.state !== null && !NEXT[entry.state].includes(state))
    throw new Error(`a request that is ${entry.state} cannot be ${state}`);
  entry.state = state;
}

/** Its records are to be read again. */
export function judgeAgain(entry: AdmissionEntry, answer: Stale): void {
  become(entry, "judged again");
  entry.slot = null;
  entry.answer = answer;
}

/** The charges of so many requests are kept: enough for all that may run in a cell at once. */
const CHARGES_KEPT = 10_000;

/** What requests were charged, by id; the oldest are forgotten first. */
export class KeptCharges {
  readonly #byId = new Map<string, ActualUsage>();

  keep(requestId: string, charged: ActualUsage): void {
    this.#byId.set(requestId, charged);
    const [oldest = requestId] = this.#byId.keys();
    if (this.#byId.size > CHARGES_KEPT) this.#byId.delete(oldest);
  }

  /** Forgets it too. */
  take(requestId: string): ActualUsage | null {
    const charged = this.#byId.get(requestId) ?? null;
    this.#byId.delete(requestId);
    return charged;
  }
}

/** Whether it holds a slot or waits for one, or was refused and has no row yet. */
export function isLive({ state }: AdmissionEntry): boolean {
  return state !== "given up" && state !== "ended";
}

/** What a settlement charges. */
export function usedBy({ row, actualTokens }: Settlement): ActualUsage {
  return { tokens: actualTokens, nanoUsd: nanoUsdOf(row.cost_usd) };
}

/**
 * Whether the request is a sub-call: it takes no slot, so the scheduler never hears of it
 * (docs/rules/settlement-and-rows.md#sub-calls).
 */
export function isSubCall({ row }: AdmissionRequest): boolean {
  return row.admission === "boon";
}

/** What the scheduler decides about. */
export function arrivalOf({ requestId, tenant, group, model, costTokens }: AdmissionRequest): Arrival {
  return { requestId, tenant, group, model, costTokens };
}

/** A request that holds a slot and waits for tokens or money, as operators see it; nothing of any other. */
export function waitingForBudget({ request, state, arrivedMs }: AdmissionEntry, nowMs: number): WaitingQueue[] {
  if (state !== "reserving") return [];
  const { tenant, group, model } = request;
  const names = { tenant_id: tenant.id, tenant: tenant.name, group: group.name, model: model.name };
  const oldestMs = Math.max(0, Math.round(nowMs - arrivedMs));
  return [{ ...names, queued: 1, oldest_wait_ms: oldestMs, reason: "budget" }];
}
