/** The decisions of a Cell's budget: its verdicts on requests, and the messages to send. Plain data. */
import type { BindingLimit, BudgetReport, LeaseRequest } from "../messages/rpc.ts";
import { RATE_NAMES, RATES, type Rate, type RateReason } from "../rates.ts";
import type { BucketLevel } from "../token-bucket.ts";

export type RefusalCode = (typeof RATES)[Rate]["code"] | "key_budget_exhausted" | "tenant_budget_exhausted";

export type ReservationVerdict =
  | { readonly kind: "ok"; readonly level: BucketLevel | null }
  | {
      readonly kind: "refused";
      readonly code: RefusalCode;
      /** Of a 429 only: whole ms, at least 1. */
      readonly retryAfterMs: number | null;
      readonly level: BucketLevel | null;
    }
  | {
      readonly kind: "unavailable";
      readonly code: "budget_check_failed" | "key_budget_check_failed";
      /** It continues unchecked (GATEWAY_FAIL_OPEN). */
      readonly isAdmitted: boolean;
    }
  /** Its amounts or limits are invalid (docs/rules/budgets.md#amounts): refused also where GATEWAY_FAIL_OPEN is on. */
  | { readonly kind: "invalid"; readonly code: "budget_check_failed" };

/** A refusal because a number is not an amount: a defect of the gateway itself, to be reported. */
export interface AmountFault {
  /** The number that is at fault, or the message that contains it. */
  readonly field: string;
  readonly consequence: string;
}

export type BudgetEffect =
  | { readonly type: "decided"; readonly requestId: string; readonly verdict: ReservationVerdict }
  | { readonly type: "ask"; readonly request: LeaseRequest }
  | { readonly type: "report"; readonly report: BudgetReport };

/** Whether a limit per minute refuses. */
export function isRateRefusal(limit: BindingLimit): limit is RateReason {
  return limit !== "key" && limit !== "tenant";
}

export function refusalCode(limit: BindingLimit): RefusalCode {
  if (!isRateRefusal(limit)) return `${limit}_budget_exhausted`;
  return RATES[RATE_NAMES.find((rate) => RATES[rate].reason === limit) ?? "tokens"].code;
}
