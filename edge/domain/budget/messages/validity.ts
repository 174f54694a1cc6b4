/**
 * Whether what enters the budgets can be counted (docs/rules/budgets.md#amounts). Callers clamp their amounts first, so a fault
 * is a defect of the gateway itself: the code that finds one refuses the whole message part, stores none of it and reports which
 * field it was. The functions return the name of the first field that is invalid, for human readers; null: all are valid.
 */
import { isAmount } from "../../../../shared/amount.ts";
import { type ActualUsage, AMOUNTS, type Amounts, covers, USED } from "../amounts.ts";
import { type BudgetLimits, LIMITS } from "../limits.ts";
import { faultIn, isOf } from "../shapes.ts";
import {
  type BudgetReport,
  grantOf,
  LEASE_ANSWER,
  LEASE_QUESTION,
  LEASE_REPORT,
  type LeaseAnswer,
  type LeaseReport,
  type LeaseRequest,
  REPORT_FRAME,
} from "./rpc.ts";

export function faultInLimits(limits: BudgetLimits): string | null {
  return faultIn("limits", LIMITS, limits);
}

export function faultInNeed({
  limits,
  need,
}: {
  readonly limits: BudgetLimits;
  readonly need: Amounts;
}): string | null {
  return faultIn("need", AMOUNTS, need) ?? faultInLimits(limits);
}

export function faultInUsed(used: ActualUsage): string | null {
  return faultIn("used", USED, used);
}

export function faultInLeaseReport(word: LeaseReport): string | null {
  return faultIn("lease", LEASE_REPORT, word);
}

/** Of a report, what is said of each lease is not checked. */
export function faultInReport(report: BudgetReport): string | null {
  return faultIn("report", REPORT_FRAME, report);
}

/** The report that comes with a lease request is not checked. */
export function faultInLeaseRequest(request: LeaseRequest): string | null {
  return faultIn("", LEASE_QUESTION, request)?.slice(1) ?? null;
}

/** Whether a value can be the answer to a lease request: also whether a grant covers what was needed. */
export function isLeaseAnswer(value: unknown, { need }: LeaseRequest): value is LeaseAnswer {
  if (!isOf(LEASE_ANSWER, value)) return false;
  const { verdict } = value;
  return verdict.kind !== "granted" || covers(grantOf(verdict.grant, need), need);
}

/** What a request is charged when its end contains a number that is no amount: for that number, what was reserved. */
export function usedOrReserved({ tokens, nanoUsd }: ActualUsage, drawn: Amounts): ActualUsage {
  return {
    tokens: isAmount(tokens) ? tokens : drawn.termTokens,
    nanoUsd: isAmount(nanoUsd) ? nanoUsd : drawn.nanoUsd,
  };
}
