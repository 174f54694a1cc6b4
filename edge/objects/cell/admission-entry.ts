/**
 * One request at a Cell's admission, and what the parts of admission say to one another about it. Plain records and sums; what
 * happens to a request is decided by the controller (admission-controller.ts).
 */

import type { UsageRow } from "../../../shared/usage-row.ts";
import { orphanedSettlement, type SlotTaken } from "../../domain/admission/permit-end.ts";
import type { AdmissionRequest, BudgetRefusal, Decision, Settlement, Stale } from "../../domain/admission/rpc.ts";
import { type ActualUsage, nanoUsdOf } from "../../domain/budget/amounts.ts";
import type { BucketLevel } from "../../domain/budget/token-bucket.ts";
import type { Arrival } from "../../domain/fairshare/types.ts";
import type { UpstreamOutcomes } from "../../domain/upstream/attempt-outcomes.ts";

/** One arrival. Only the controller reads it; a permit hands it back as it is. */
export interface AdmissionEntry {
  readonly request: AdmissionRequest;
  /** When it began to wait, by this Cell's clock, epoch ms. */
  readonly arrivedMs: number;
  /** The generation of revisions by which its records were found to be the newest (revisions.ts). */
  generation: number;
  /** Null while the scheduler has not granted one. */
  slot: SlotTaken | null;
  /** Null while it waits. `stale`: its turn has come, and it is to be judged again; it keeps its place. */
  decision: Decision | Stale | null;
  /** An earlier permit of it was abandoned: there is a row already, and this is charged for it; null: there was none. */
  readonly charged: ActualUsage | null;
  /** An earlier permit of it, or an earlier life of this Cell, may have written its row: a further row is compared with the log. */
  mayHaveRow: boolean;
  /** Its holder calls the upstream: a grant in the answer to the request is used at once, a later one when the holder says so. */
  inUse: boolean;
  readonly waiters: { resolve(decision: Decision | Stale): void; reject(error: Error): void }[];
}

/** What the budgets say to a request whose turn has come. */
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
 * decisions that it led to, of this request or of others; the caller applies them in their order. Decisions that need
 * an answer of the budget object come later, by way of {@link LateDecisions}.
 */
export interface BudgetPort {
  /** The request waits for a slot; its tokens may be fetched meanwhile. */
  expect(request: AdmissionRequest): readonly BudgetDecision[];
  /** The request has its slot: draw from every budget, or from none. */
  reserve(request: AdmissionRequest): readonly BudgetDecision[];
  /** The request left before a verdict. */
  withdraw(request: AdmissionRequest): readonly BudgetDecision[];
  /** The request ended after it was let through. `goesOn`: its permit was lost, and it may be adopted by a later Cell. */
  settle(request: AdmissionRequest, used: ActualUsage, goesOn?: boolean): void;
  /** The request was let through by an earlier life of this Cell. */
  adopt(request: AdmissionRequest): void;
  /** A sub-call goes on without a check: nothing is reserved, and what it uses is charged at its end. */
  admitUnchecked(request: AdmissionRequest): void;
  /** The request was settled when its permit was lost, and goes on: what it uses is charged at its end. */
  readmit(request: AdmissionRequest): void;
}

/**
 * Decisions of budgets that come after the call which asked for them. The gateway puts them, the controller reads them in the
 * same turn; neither knows the other. What is put before there is a reader waits for it.
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

/** Where the rows of ended requests go. */
export interface RowCompletion {
  /**
   * Resolves when the row is durable. `orphan`: another row of the request may have been written before, by its Worker or by an
   * earlier life of the Cell; the first one counts.
   */
  complete(row: UsageRow, orphan: boolean, upstream?: UpstreamOutcomes): Promise<void>;
}

/** The settlement of a request whose permit's holder is gone. */
export function lostSettlement({ request, decision, inUse, arrivedMs }: AdmissionEntry, nowMs: number): Settlement {
  return orphanedSettlement(
    request,
    { granted: decision?.verdict === "granted", upstreamCalled: inUse, arrivedMs },
    nowMs,
  );
}

/** What a settlement charges. */
export function usedBy({ row, actualTokens }: Settlement): ActualUsage {
  return { tokens: actualTokens, nanoUsd: nanoUsdOf(row.cost_usd) };
}

/** What the scheduler decides about. */
export function arrivalOf({ requestId, tenant, group, model, costTokens }: AdmissionRequest): Arrival {
  return { requestId, tenant, group, model, costTokens };
}
