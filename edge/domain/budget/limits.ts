/**
 * The limits that bind one request, as its own records state them (docs/rules/storage-layouts.md#resolved-key). Every
 * message carries them, so neither a Cell nor the budget object looks one up; the higher `rev` wins.
 */
import type { ResolvedBudget, ResolvedKey, ResolvedTenant } from "../../../shared/records.ts";
import { type Amounts, nanoUsdOf } from "./amounts.ts";
import {
  amountOf,
  isRated,
  perMinute,
  RATE_LIMITS,
  RATE_NAMES,
  RATES,
  type RateFields,
  rateLimitsOf,
} from "./rates.ts";
import { amount, integer, type Of, oneOf, orNull, record, text } from "./shapes.ts";

/** One term budget (docs/rules/budgets.md#term-budgets). A null cap means no cap; a null period means a lifetime. */
const TERM = record({
  tokens: orNull(amount),
  nanoUsd: orNull(amount),
  period: oneOf("lifetime", "monthly", "term", null),
  startedAtMs: orNull(integer),
});
export type TermLimits = Of<typeof TERM>;

export const TENANT_LIMITS = record({ id: text, name: text, rev: integer, timezone: text, ...RATE_LIMITS, term: TERM });
export type TenantLimits = Of<typeof TENANT_LIMITS>;

export const KEY_LIMITS = record({
  id: text,
  /** The key's name, or its prefix when it has none. */
  label: text,
  rev: integer,
  ...RATE_LIMITS,
  term: TERM,
});
export type KeyLimits = Of<typeof KEY_LIMITS>;

export const LIMITS = record({ tenant: TENANT_LIMITS, key: KEY_LIMITS });
export type BudgetLimits = Of<typeof LIMITS>;

export type BudgetOwner = keyof BudgetLimits;
export const OWNERS = ["tenant", "key"] as const satisfies readonly BudgetOwner[];

function termLimits(budget: ResolvedBudget): TermLimits {
  return {
    tokens: budget.tokens,
    nanoUsd: budget.cost_usd === null ? null : nanoUsdOf(budget.cost_usd),
    period: budget.period,
    startedAtMs: budget.started_at_ms,
  };
}

/** Used as the key where only the tenant is meant; no counter is kept for it. */
export const NO_KEY: KeyLimits = {
  id: "",
  label: "",
  rev: 0,
  term: { tokens: null, nanoUsd: null, period: null, startedAtMs: null },
};

/** What end users share of their tenant: no limit binds all of them together. */
const NO_TERM: TermLimits = NO_KEY.term;

type KeyFacts = Pick<ResolvedKey, "key_id" | "key_name" | "key_prefix" | "budget" | "rev"> & RateFields;
type TenantFacts = Pick<ResolvedTenant, "id" | "name" | "rev" | "timezone" | "budget"> & RateFields;
type EndUserFacts = Pick<ResolvedTenant, "id" | "name" | "rev" | "timezone" | "end_user_budget">;

/** The limits of a key's hot copy and of its tenant; only those of the tenant when `key` is null. */
export function limitsOf(key: KeyFacts | null, tenant: TenantFacts): BudgetLimits {
  return { tenant: tenantLimits(tenant), key: key === null ? NO_KEY : keyLimits(key) };
}

/**
 * The name of the budget object for the end users of a tenant. No end user can have it as id, because such an id has a slash
 * after the tenant's: the ledger has nothing under this name.
 */
export const endUsersOf = (tenantId: string): string => `${tenantId}:end-users`;

/**
 * The budget of an end user (docs/rules/budgets.md#end-users), in the form of a key whose tenant has no limits; null: the
 * request names nobody, or the tenant has no budget for end users.
 */
export function endUserLimitsOf(endUser: string, tenant: EndUserFacts): BudgetLimits | null {
  const term = termLimits(tenant.end_user_budget);
  if (endUser === "" || !isCapped(term)) return null;
  const { id, name, rev, timezone } = tenant;
  const none = { tokensPerMinute: 0, term: NO_TERM };
  return {
    tenant: { id: endUsersOf(id), name, rev, timezone, ...none },
    key: { ...none, id: `${id}/${endUser}`, label: "", rev, term },
  };
}

/** Whether a key represents an end user: the id of a key has no slash. */
export const isEndUser = (keyId: string): boolean => keyId.includes("/");

/** The same for displays of the level per minute; null if there is no such limit. */
export function ratedLimitsOf(key: KeyFacts, tenant: TenantFacts): BudgetLimits | null {
  const limits = limitsOf(key, tenant);
  return isRated(limits.tenant) || isRated(limits.key) ? limits : null;
}

function tenantLimits(tenant: TenantFacts): TenantLimits {
  return {
    id: tenant.id,
    name: tenant.name,
    rev: tenant.rev,
    timezone: tenant.timezone,
    tokensPerMinute: 0,
    ...rateLimitsOf(tenant),
    term: termLimits(tenant.budget),
  };
}

function keyLimits(key: KeyFacts): KeyLimits {
  return {
    id: key.key_id,
    label: key.key_name === "" ? key.key_prefix : key.key_name,
    rev: key.rev,
    ...rateLimitsOf(key),
    term: termLimits(key.budget),
  };
}

/** Whether limits are newer than others for a pool: limits of a key apply to its own pool only. */
export function isNewerFor(pool: string | null, limits: BudgetLimits, than: BudgetLimits): boolean {
  return limits.tenant.rev > than.tenant.rev || (pool !== null && limits.key.rev > than.key.rev);
}

export function isCapped(term: TermLimits): boolean {
  return term.tokens !== null || term.nanoUsd !== null;
}

/** The tightest limit of tokens per minute that can never hold what a request needs; null: it can fit. */
export function exceededQuota(
  limits: BudgetLimits,
  { bucketTokens }: Amounts,
): { readonly owner: BudgetOwner; readonly tokensPerMinute: number } | null {
  const quotas = OWNERS.map((owner) => ({ owner, tokensPerMinute: perMinute(limits[owner], "tokens") }));
  const exceeded = quotas.filter(({ tokensPerMinute: cap }) => cap > 0 && bucketTokens > cap);
  return exceeded.toSorted((a, b) => a.tokensPerMinute - b.tokensPerMinute)[0] ?? null;
}

/** Whether a tenant, or a key, has limits of its own. */
function isBound(owner: TenantLimits | KeyLimits): boolean {
  return isRated(owner) || isCapped(owner.term);
}

/** Whether any limit applies: without one, requests need no lease and are only reported. */
export function needsLease({ tenant, key }: BudgetLimits): boolean {
  return isBound(tenant) || isBound(key);
}

/** The amounts that count under the limits: rates without a limit count nothing. */
export function countedBy({ tenant, key }: BudgetLimits, amounts: Amounts): Amounts {
  let counted = amounts;
  for (const rate of RATE_NAMES) {
    if (amountOf(amounts, rate) === 0 || perMinute(tenant, rate) > 0 || perMinute(key, rate) > 0) continue;
    counted = { ...counted, [RATES[rate].amount]: 0 };
  }
  return counted;
}

/** Which pool pays: the key's own when it has limits, else the tenant's (null) (docs/rules/budgets.md#leases). */
export function poolOf({ key }: BudgetLimits): string | null {
  return isBound(key) ? key.id : null;
}

/**
 * The error code of a request when the budget object cannot be reached and failing open is off
 * (docs/rules/budgets.md#unreachable).
 */
export function unavailableCode(limits: BudgetLimits): "budget_check_failed" | "key_budget_check_failed" {
  return isBound(limits.tenant) ? "budget_check_failed" : "key_budget_check_failed";
}
