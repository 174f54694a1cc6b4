/** The budget usage read (docs/rules/budgets.md#usage-read), from counters that the caller keeps. */
import { ratePerDay } from "../../../shared/money/run-out.ts";
import { type Amounts, usdOf } from "./amounts.ts";
import type { TermLimits } from "./limits.ts";
import { type TermAccount, usedRatio } from "./term-budget.ts";

/** Body of `GET /api/v1/{tenants,keys}/{id}/budget/usage`, with times still as Unix epoch ms. */
export interface BudgetUsage {
  readonly budget_period: TermLimits["period"];
  readonly period_start_ms: number | null;
  readonly period_end_ms: number | null;
  readonly budget_tokens: number | null;
  readonly budget_cost_usd: number | null;
  readonly used_tokens: number;
  readonly used_cost_usd: number;
  readonly reserved_tokens: number;
  readonly reserved_cost_usd: number;
  readonly remaining_tokens: number | null;
  readonly remaining_cost_usd: number | null;
  readonly ratio: number | null;
  readonly state: "none" | "ok" | "warned" | "exhausted";
  readonly tokens_per_day: number | null;
  readonly cost_usd_per_day: number | null;
}

/** Bounds of the local month that an instant lies in. The caller provides it. */
export type MonthBounds = (epochMs: number, zone: string) => { readonly startMs: number; readonly endMs: number };

/** When the period started, for reads and for sums over the ledger; null if it has no start. */
export function periodStartMs(term: TermLimits, zone: string, nowMs: number, bounds: MonthBounds): number | null {
  return term.period === "monthly" ? bounds(nowMs, zone).startMs : term.startedAtMs;
}

function stateOf(ratio: number | null): BudgetUsage["state"] {
  if (ratio === null) return "none";
  if (ratio >= 1) return "exhausted";
  return ratio >= 0.8 ? "warned" : "ok";
}

/**
 * The usage of one account; `period` as in docs/rules/budgets.md#usage-read (a `term` ends with the tenant's active_until).
 */
export function budgetUsageOf(
  term: TermLimits,
  account: TermAccount,
  reserved: Amounts,
  period: { readonly startMs: number | null; readonly endMs: number | null },
  nowMs: number,
): BudgetUsage {
  const ratio = usedRatio(account, term)?.ratio ?? null;
  const left = (cap: number | null, used: number): number | null => (cap === null ? null : Math.max(0, cap - used));
  const nanoUsdPerDay = ratePerDay(account.recent, "nanoUsd", nowMs);
  const remainingNanoUsd = left(term.nanoUsd, account.usedNanoUsd + reserved.nanoUsd);
  return {
    budget_period: term.period,
    period_start_ms: period.startMs,
    period_end_ms: period.endMs,
    budget_tokens: term.tokens,
    budget_cost_usd: term.nanoUsd === null ? null : usdOf(term.nanoUsd),
    used_tokens: account.usedTokens,
    used_cost_usd: usdOf(account.usedNanoUsd),
    reserved_tokens: reserved.termTokens,
    reserved_cost_usd: usdOf(reserved.nanoUsd),
    remaining_tokens: left(term.tokens, account.usedTokens + reserved.termTokens),
    remaining_cost_usd: remainingNanoUsd === null ? null : usdOf(remainingNanoUsd),
    ratio: ratio === null ? null : Math.round(ratio * 10_000) / 10_000,
    state: stateOf(ratio),
    tokens_per_day: ratePerDay(account.recent, "tokens", nowMs),
    cost_usd_per_day: nanoUsdPerDay === null ? null : usdOf(nanoUsdPerDay),
  };
}
