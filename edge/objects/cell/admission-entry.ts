/**
 * One request in a Cell's admission, and the interfaces between the parts of admission. Plain records and calculations;
 * the controller decides what happens to a request (admission-controller.ts).
 */

import type { WaitingQueue } from "../../../shared/schema/load.ts";
import type { UsageRow } from "../../../shared/usage-row.ts";
import { orphanedSettlement, type SlotTaken } from "../../domain/admission/permit-end.ts";
import type { AdmissionRequest, BudgetRefusal, Decision, Settlement, Stale } from "../../domain/admission/rpc.ts";
import { type ActualUsage, nanoUsdOf } from "../../domain/budget/amounts.ts";
import type { BucketLevel } from "../../domain/budget/token-bucket.ts";
import type { Arrival } from "../../domain/fairshare/types.ts";
import type { UpstreamOutcomes } from "../../domain/upstream/attempt-outcomes.ts";

/** One arrival. Only the controller reads it; a permit returns it unchanged. */
export interface AdmissionEntry {
  readonly request: AdmissionRequest;
  /** When it began to wait, by this Cell's clock, epoch ms. */
  readonly arrivedMs: number;
  /** The generation of revisions at which its records were found to be the newest (revisions.ts). */
  generation: number;
  /** Null until the scheduler grants one; of a sub-call, what its row says of a slot. */
  slot: SlotTaken | null;
  /** Null while it waits. `stale`: its turn has come and it has to be judged again; it keeps its place. */
  decision: Decision | Stale | null;
  /**
   * What was charged when an earlier permit of the request was abandoned, which also wrote a row; null: no permit was.
   */
  readonly charged: ActualUsage | null;
  /**
   * An earlier permit of the request, or an earlier life of this Cell, may have written its row: a further row is
   * compared with the log.
   */
  mayHaveRow: boolean;
  /**
   * Its holder calls the upstream. A grant in the answer to the request counts as in use at once, a later grant when
   * the holder reports it.
   */
  inUse: boolean;
  /** A message of its holder has shown that the decision arrived there. */
  received: boolean;
  readonly waiters: { resolve(decision: Decision | Stale): void; reject(error: Error): void }[];
}

/** The budgets' verdict on a request that has its slot. */
export type BudgetVerdict =
  | { readonly kind: "ok"; readonly level: BucketLevel | null }
  | { readonly kind: "refused"; readonly refusal: BudgetRefusal };

/** The budgets' verdict on one request. */
export interface BudgetDecision {
  readonly requestId: string;
  readonly verdict: BudgetVerdict;
}

/**
 * The budgets, as the admission controller uses them (docs/rules/budgets.md#leases). A call returns at once with the
 * decisions that it caused, about this request or others; the caller applies them in order. Decisions that need an
 * answer of the budget object come later, through {@link LateDecisions}.
 */
export interface BudgetPort {
  /** The request waits for a slot; tokens for it may be fetched meanwhile. */
  expect(request: AdmissionRequest): readonly BudgetDecision[];
  /** The request has its slot: reserve from every budget, or from none. */
  reserve(request: AdmissionRequest): readonly BudgetDecision[];
  /** The request left before a verdict. */
  withdraw(request: AdmissionRequest): readonly BudgetDecision[];
  /** The request was let through and has ended. `goesOn`: its permit was lost, and a later Cell may adopt it. */
  settle(request: AdmissionRequest, used: ActualUsage, goesOn?: boolean): void;
  /** The request was let through by an earlier life of this Cell. */
  adopt(request: AdmissionRequest): void;
  /** A sub-call goes on without a check: nothing is reserved, and what it uses is charged at its end. */
  admitUnchecked(request: AdmissionRequest): void;
  /** The request was settled when its permit was lost, and goes on: what it uses is charged at its end. */
  readmit(request: AdmissionRequest): void;
}

/**
 * Decisions of budgets that come after the call that requested them. The gateway puts them, and the controller reads
 * them in the same turn, without a reference to each other. Decisions that are put before the reader is set are kept
 * for it.
 */
export class LateDecisions {
  #waiting: BudgetDecision[] = [];
  #reader: ((decisions: readonly BudgetDecision[]) => void) | null = null;

  put(decisions: readonly BudgetDecision[]): void {
    if (decisions.length === 0) return;
    if (this.#reader === null) this.#waiting.push(...decisions);
    else this.#reader(decisions);
  }

  /** Sets the one reader. */
  readBy(reader: (decisions: readonly BudgetDecision[]) => void): void {
    this.#reader = reader;
    this.put(this.#waiting.splice(0));
  }
}

/** Takes the rows of requests that have ended. */
export interface RowCompletion {
  /**
   * Resolves when the row is durable. `orphan`: another row of the request may have been written before, by its Worker or by an
   * earlier life of the Cell; the first one counts.
   */
  complete(row: UsageRow, orphan: boolean, upstream?: UpstreamOutcomes): Promise<void>;
}

/** Whether the entry has a decision that stands: it is neither waiting nor to be judged again. */
export function isDecided({ decision }: AdmissionEntry): boolean {
  return decision !== null && decision.verdict !== "stale";
}

/** The settlement of a request whose permit was lost. */
export function lostSettlement({ request, decision, inUse, arrivedMs }: AdmissionEntry, nowMs: number): Settlement {
  return orphanedSettlement(
    request,
    { granted: decision?.verdict === "granted", upstreamCalled: inUse, arrivedMs },
    nowMs,
  );
}

/**
 * Whether the request may come back although it got a decision, which may have been lost with the connection: its isolate, which then
 * has a lease, does not know of it, and asks again.
 */
export function mayComeBack({ request, received }: AdmissionEntry): boolean {
  return request.holder !== undefined && !received;
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

/** A request that holds a slot and waits for tokens or money, as operators see it. */
export function waitingForBudget({ request, arrivedMs }: AdmissionEntry, nowMs: number): WaitingQueue {
  const { tenant, group, model } = request;
  return {
    tenant_id: tenant.id,
    tenant: tenant.name,
    group: group.name,
    model: model.name,
    queued: 1,
    oldest_wait_ms: Math.max(0, Math.round(nowMs - arrivedMs)),
    reason: "budget",
  };
}
