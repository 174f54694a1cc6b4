/**
 * The limits that bind one request, as its own records state them (docs/rules/storage-layouts.md#resolved-key). Every
 * message carries them, so neither a Cell nor the budget object looks one up; the higher `rev` wins.
 */
import type { ResolvedBudget, ResolvedKey, ResolvedTenant } from "../../../shared/records.ts";
import { type Amounts, nanoUsdOf } from "./amounts.ts";

/** One term budget (docs/rules/budgets.md#term-budgets). A null cap is no cap; a null period is a lifetime. */
export interface TermLimits {
  readonly tokens: number | null;
  readonly nanoUsd: number | null;
  readonly period: "lifetime" | "monthly" | "term" | null;
  readonly startedAtMs: number | null;
}

export interface TenantLimits {
  readonly id: string;
  readonly name: string;
  readonly rev: number;
  readonly timezone: string;
  /** 0: no per-minute cap. */
  readonly tokensPerMinute: number;
  readonly term: TermLimits;
}

export interface KeyLimits {
  readonly id: string;
  /** The key's name, or its prefix when it has none. */
  readonly label: string;
  readonly rev: number;
  readonly term: TermLimits;
}

export interface BudgetLimits {
  readonly tenant: TenantLimits;
  readonly key: KeyLimits;
}

function termLimits(budget: ResolvedBudget): TermLimits {
  return {
    tokens: budget.tokens,
    nanoUsd: budget.cost_usd === null ? null : nanoUsdOf(budget.cost_usd),
    period: budget.period,
    startedAtMs: budget.started_at_ms,
  };
}

/** Stands for a key where only the tenant is meant; no counter is kept for it. */
export const NO_KEY: KeyLimits = {
  id: "",
  label: "",
  rev: 0,
  term: { tokens: null, nanoUsd: null, period: null, startedAtMs: null },
};

type KeyFacts = Pick<ResolvedKey, "key_id" | "key_name" | "key_prefix" | "budget" | "rev">;
type TenantFacts = Pick<ResolvedTenant, "id" | "name" | "rev" | "timezone" | "tokens_per_minute" | "budget">;

/** The limits of a key's hot copy and of its tenant; those of the tenant alone when `key` is null. */
export function limitsOf(key: KeyFacts | null, tenant: TenantFacts): BudgetLimits {
  return { tenant: tenantLimits(tenant), key: key === null ? NO_KEY : keyLimits(key) };
}

/** The limits of all keys of a tenant together. */
function tenantLimits(tenant: TenantFacts): TenantLimits {
  return {
    id: tenant.id,
    name: tenant.name,
    rev: tenant.rev,
    timezone: tenant.timezone,
    tokensPerMinute: tenant.tokens_per_minute,
    term: termLimits(tenant.budget),
  };
}

/** The limits of one key, besides those of its tenant. */
function keyLimits(key: KeyFacts): KeyLimits {
  return {
    id: key.key_id,
    label: key.key_name === "" ? key.key_prefix : key.key_name,
    rev: key.rev,
    term: termLimits(key.budget),
  };
}

/** Whether limits are newer than others for a pool: limits of a key apply to its own pool only. */
export function isNewerFor(pool: string | null, limits: BudgetLimits, than: BudgetLimits): boolean {
  return limits.tenant.rev > than.tenant.rev || (pool !== null && limits.key.rev > than.key.rev);
}

/** Whether a term budget has any cap. */
export function isCapped(term: TermLimits): boolean {
  return term.tokens !== null || term.nanoUsd !== null;
}

/** Whether any limit applies: without one, requests need no lease and are only reported. */
export function needsLease(limits: BudgetLimits): boolean {
  return limits.tenant.tokensPerMinute > 0 || isCapped(limits.tenant.term) || isCapped(limits.key.term);
}

/** The amounts that count under the limits: without a bucket, no bucket tokens. */
export function countedBy(limits: BudgetLimits, amounts: Amounts): Amounts {
  return limits.tenant.tokensPerMinute > 0 ? amounts : { ...amounts, bucketTokens: 0 };
}

/** Which pool pays: the key's own when it has caps, else the tenant's (null) (docs/rules/budgets.md#leases). */
export function poolOf(limits: BudgetLimits): string | null {
  return isCapped(limits.key.term) ? limits.key.id : null;
}

/**
 * The error code of a request when the budget object cannot be reached and failing open is off
 * (docs/rules/budgets.md#unreachable).
 */
export function unavailableCode(limits: BudgetLimits): "budget_check_failed" | "key_budget_check_failed" {
  const tenantBound = limits.tenant.tokensPerMinute > 0 || isCapped(limits.tenant.term);
  return tenantBound ? "budget_check_failed" : "key_budget_check_failed";
}
