/**
 * What a cell's budget says: its verdicts on requests, and the messages that it wants sent. Plain data.
 */
import type { BudgetAlert } from "./alerts.ts";
import type { BindingLimit, BudgetReport, LeaseRequest } from "./rpc.ts";
import type { BucketLevel } from "./token-bucket.ts";

export type RefusalCode = "token_budget_exceeded" | "key_budget_exhausted" | "tenant_budget_exhausted";

export type ReservationVerdict =
  | { readonly kind: "ok"; readonly level: BucketLevel | null }
  | {
      readonly kind: "refused";
      readonly code: RefusalCode;
      /** Of a 429 only: whole ms, at least 1. */
      readonly retryAfterMs: number | null;
      readonly level: BucketLevel | null;
    }
  | { readonly kind: "unavailable"; readonly code: "budget_check_failed" | "key_budget_check_failed" }
  /**
   * Its amounts or limits are none to decide by (docs/rules/budgets.md#amounts): refused also where GATEWAY_FAIL_OPEN
   * is on.
   */
  | { readonly kind: "invalid"; readonly code: "budget_check_failed" };

/** Something that was refused because a number in it was no amount: a defect of the gateway's own, to be told. */
export interface AmountFault {
  /** Which number, or whose numbers. */
  readonly field: string;
  readonly consequence: string;
}

export type BudgetEffect =
  | { readonly type: "decided"; readonly requestId: string; readonly verdict: ReservationVerdict }
  | { readonly type: "ask"; readonly request: LeaseRequest }
  | { readonly type: "report"; readonly report: BudgetReport }
  | { readonly type: "alert"; readonly alert: BudgetAlert };

export const REFUSAL_CODES: Record<BindingLimit, RefusalCode> = {
  rate: "token_budget_exceeded",
  key: "key_budget_exhausted",
  tenant: "tenant_budget_exhausted",
};
