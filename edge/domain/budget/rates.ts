/**
 * The limits per minute that a tenant and each of its keys can have, by their unit (docs/rules/budgets.md#per-minute-buckets).
 * Every limit is a bucket; a request takes from all that bind it at once. A row here is all that the budgets know of a limit:
 * another limit is another row.
 */
import type { Amounts } from "./amounts.ts";
import { amount, orAbsent, type RecordOf, type Shape } from "./shapes.ts";

/**
 * `limit` and `field`: its name in limits, and in records of tenants and keys. `amount`: the part of amounts that is taken from
 * its buckets. `reason`: the name of its refusals in messages and on disks.
 */
export const RATES = {
  tokens: {
    limit: "tokensPerMinute",
    field: "tokens_per_minute",
    amount: "bucketTokens",
    reason: "rate",
    code: "token_budget_exceeded",
  },
  requests: {
    limit: "requestsPerMinute",
    field: "requests_per_minute",
    amount: "requests",
    reason: "requests",
    code: "request_rate_exceeded",
  },
} as const;

export type Rate = keyof typeof RATES;
type Rule = (typeof RATES)[Rate];

/** In the order in which they refuse. */
export const RATE_NAMES = Object.keys(RATES) as readonly Rate[];

export type RateReason = Rule["reason"];

export const RATE_REASONS: readonly RateReason[] = RATE_NAMES.map((rate) => RATES[rate].reason);

/** Limits per minute; 0 or absent: none. */
export const RATE_LIMITS = Object.fromEntries(RATE_NAMES.map((rate) => [RATES[rate].limit, orAbsent(amount)])) as {
  readonly [Name in Rule["limit"]]: Shape<number | undefined>;
};
export type RateLimits = RecordOf<typeof RATE_LIMITS>;

/** The same, as a record states them. */
export type RateFields = { readonly [Name in Rule["field"]]?: number };

export function perMinute(limits: RateLimits, rate: Rate): number {
  return limits[RATES[rate].limit] ?? 0;
}

export function isRated(limits: RateLimits): boolean {
  return RATE_NAMES.some((rate) => perMinute(limits, rate) > 0);
}

export function rateLimitsOf(fields: RateFields): RateLimits {
  const limits: { -readonly [Name in keyof RateLimits]: number } = {};
  for (const rate of RATE_NAMES) {
    const { field, limit } = RATES[rate];
    const cap = fields[field] ?? 0;
    // A number that is not an amount stays, to be refused.
    if (cap !== 0) limits[limit] = cap;
  }
  return limits;
}

/** What amounts take from a bucket. */
export function amountOf(amounts: Amounts, rate: Rate): number {
  return amounts[RATES[rate].amount] ?? 0;
}

export function byRate<T>(of: (rate: Rate) => T): Readonly<Record<Rate, T>> {
  const all: Partial<Record<Rate, T>> = {};
  for (const rate of RATE_NAMES) all[rate] = of(rate);
  return all as Record<Rate, T>;
}

/** The gain of the buckets of a tenant (null) and of its keys; negative for a loss. */
export class RateGains {
  readonly #owners = new Map<string | null, Record<Rate, number>>();

  /** Adds amounts, `times` over, to the tenant's and to a key's; a null or empty id means no key. */
  add(keyId: string | null, amounts: Amounts, times: 1 | -1): void {
    this.#add(null, amounts, times);
    if (keyId !== null && keyId !== "") this.#add(keyId, amounts, times);
  }

  of(owner: string | null): Readonly<Record<Rate, number>> {
    return this.#owners.get(owner) ?? byRate(() => 0);
  }

  get owners(): Iterable<string | null> {
    return this.#owners.keys();
  }

  forget(keyId: string): void {
    this.#owners.delete(keyId);
  }

  #add(owner: string | null, amounts: Amounts, times: 1 | -1): void {
    const sums = this.#owners.get(owner) ?? { ...byRate(() => 0) };
    for (const rate of RATE_NAMES) sums[rate] += times * amountOf(amounts, rate);
    this.#owners.set(owner, sums);
  }
}
