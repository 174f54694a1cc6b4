/**
 * The alerts of a budget object beyond reach, as decisions §35 words them: checks that were not made, and settlements
 * that are not delivered. Ids carry a time, so that one outage is told as few times as its cooldown wants.
 */
import type { BudgetAlert } from "./alerts.ts";
import { type BudgetLimits, isCapped } from "./limits.ts";

/** Failures within the same minute are one alert. */
const MINUTE_MS = 60_000;

/** A request that was let through, or refused, without its check. */
export function uncheckedAlert(
  code: "budget_check_failed" | "key_budget_check_failed",
  failOpen: boolean,
  nowMs: number,
): BudgetAlert {
  const whose = code === "key_budget_check_failed" ? "key_budget" : "budget";
  const issueKey = `redis_${whose}_reserve_failed_${failOpen ? "open" : "closed"}`;
  const outcome = failOpen ? "request admitted (fail-open)" : "request rejected (fail-closed)";
  return {
    id: `${issueKey}@${Math.floor(nowMs / MINUTE_MS)}`,
    issueKey,
    title: "Budget check failed",
    detail: `the budget object did not answer; ${outcome}`,
  };
}

/** Settlements of one tenant that are not delivered since `sinceMs`: one alert per kind of limit concerned. */
export function settlementAlerts(limits: BudgetLimits, sinceMs: number): readonly BudgetAlert[] {
  const bucket = limits.tenant.tokensPerMinute > 0 ? ["redis_budget_reconcile_failed"] : [];
  const key = isCapped(limits.key.term) ? ["redis_key_term_usage_failed"] : [];
  const tenant = isCapped(limits.tenant.term) || bucket.length + key.length === 0 ? ["redis_term_usage_failed"] : [];
  return [...bucket, ...tenant, ...key].map((issueKey) => ({
    id: `${issueKey}@${limits.tenant.id}@${sinceMs}`,
    issueKey,
    title: "Budget settlement failed",
    detail: `${limits.tenant.name}: the budget object does not answer; request was already served`.slice(0, 500),
  }));
}
