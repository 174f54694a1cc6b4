/** The budgets, as admission uses them (docs/rules/budgets.md#leases). */
import type { ActualUsage } from "../budget/amounts.ts";
import type { BucketLevel } from "../budget/token-bucket.ts";
import type { AdmissionRequest, BudgetRefusal } from "./rpc.ts";

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
 * A call returns at once with the decisions that it caused, about this request or others; the caller applies them in order.
 * Decisions that need an answer of the budget object come later, through {@link LateDecisions}.
 */
export interface BudgetPort {
  /** The request waits for a slot; tokens for it may be fetched meanwhile. */
  expect(request: AdmissionRequest): readonly BudgetDecision[];
  /** The request has its slot: reserve from every budget, or from none. */
  reserve(request: AdmissionRequest): readonly BudgetDecision[];
  /** The request left before a verdict. */
  withdraw(request: AdmissionRequest): readonly BudgetDecision[];
  /** The request was let through and has ended. `goesOn`: it was given up, and may live. */
  settle(request: AdmissionRequest, used: ActualUsage, goesOn?: boolean): void;
  /** The request was let through by an earlier life of this Cell. */
  adopt(request: AdmissionRequest): void;
  /** A sub-call runs unchecked: nothing is reserved, and its use is charged when it ends. */
  admitUnchecked(request: AdmissionRequest): void;
  /** The request was charged when it was given up, and continues: it is charged at its end for what it uses beyond that. */
  readmit(request: AdmissionRequest): void;
}

/** Takes decisions of budgets that come after the call that requested them. */
export interface LateDecisions {
  put(decisions: readonly BudgetDecision[]): void;
}
