/**
 * One term budget counter (of a tenant or key, docs/rules/budgets.md#term-budgets): period tags, the gate, rollover, ratio
 * and the alerts that are due. It counts also without caps, so that a later cap sees the usage of its period. Reservations
 * are not in it: live reservations belong to no period and carry over.
 */
import { AMOUNT_MAX } from "../../../shared/money/amount.ts";
import { withUse } from "../../../shared/money/run-out.ts";
import { type ActualUsage, type Amounts, clamped } from "./amounts.ts";
import type { BudgetLimits, TermLimits } from "./limits.ts";
import { amount, integer, listOf, number, type Of, oneOf, orAbsent, record, text, where } from "./shapes.ts";

/** The calendar month of an instant in an IANA zone, `YYYY-MM`; an unknown zone counts as UTC. The caller provides it. */
export type MonthOf = (epochMs: number, zone: string) => string;

const ALERT_LEVEL = oneOf("warn", "exhausted");
export type AlertLevel = Of<typeof ALERT_LEVEL>;

const sum = where(number, (value) => value >= 0 && value <= AMOUNT_MAX);
const RECENT_USE = record({ sinceMs: integer, atMs: integer, tokens: sum, nanoUsd: sum });

export const TERM_ACCOUNT = record({
  tag: text,
  usedTokens: amount,
  usedNanoUsd: amount,
  /** Alerts raised under this tag, since they were armed. */
  raised: listOf(ALERT_LEVEL),
  /** Revision of the limits whose cap armed the alerts again; absent: they are armed since the period started. */
  armedRev: orAbsent(integer),
  /** Also of earlier periods: how fast a budget is used. Absent: nothing was used yet, or by an older version. */
  recent: orAbsent(RECENT_USE),
});
export type TermAccount = Of<typeof TERM_ACCOUNT>;

/** The tag of the period that an instant lies in; each period has another tag. */
export function periodTag(limits: TermLimits, zone: string, atMs: number, monthOf: MonthOf): string {
  if (limits.period === "monthly") return `m:${monthOf(atMs, zone)}`;
  const startedAtSecs = limits.startedAtMs === null ? 0 : Math.floor(limits.startedAtMs / 1000);
  return `${limits.period === "term" ? "t" : "l"}:${startedAtSecs}`;
}

/** Period tags at the start of a request: only these counters are charged (docs/rules/budgets.md#periods). */
export const PERIOD_TAGS = record({ tenant: text, key: text });
export type PeriodTags = Of<typeof PERIOD_TAGS>;

export function tagsOf({ tenant, key }: BudgetLimits, nowMs: number, monthOf: MonthOf): PeriodTags {
  return {
    tenant: periodTag(tenant.term, tenant.timezone, nowMs, monthOf),
    key: periodTag(key.term, tenant.timezone, nowMs, monthOf),
  };
}

export function emptyAccount(tag: string): TermAccount {
  return { tag, usedTokens: 0, usedNanoUsd: 0, raised: [] };
}

/** Correct clocks differ by less than this: a smaller difference is no reason to return to the previous month. */
const CLOCKS_APART_MS = 60 * 60_000;
/**
 * A request has ended, and its end has been reported, within this time after its start
 * (docs/rules/models.md#timeouts-and-retries: a day at most).
 */
const REPORTED_WITHIN_MS = 25 * 60 * 60_000;

/** How one counter reads the clock of the object that keeps it. */
export class TermPeriod {
  readonly #nowMs: number;
  readonly #tagAt: (atMs: number) => string;

  constructor(limits: TermLimits, zone: string, nowMs: number, monthOf: MonthOf) {
    this.#nowMs = nowMs;
    this.#tagAt = (atMs) => periodTag(limits, zone, atMs, monthOf);
  }

  /**
   * The account in the current period: a new period, or a missing account, starts empty, but how fast it was used stays. The month goes back only when the
   * clock was certainly set back; the use of that month is in the ledger.
   */
  roll(account: TermAccount | null | undefined): TermAccount {
    const tag = this.#tagAt(this.#nowMs);
    if (!account) return emptyAccount(tag);
    if (account.tag === tag) return account;
    const before = isMonth(tag) && isMonth(account.tag) && tag < account.tag;
    if (before && this.#tagAt(this.#nowMs + CLOCKS_APART_MS) >= account.tag) return account;
    return { ...emptyAccount(tag), ...(account.recent === undefined ? {} : { recent: account.recent }) };
  }

  /**
   * Adds the use of a request that started in the period `tag`. It is left out when that period is over, or differs from the
   * counter's current one. A month that cannot be the request's (it has not started, or it ended too long ago) comes from a
   * wrong clock and counts as the current month: use is never left out because of a wrong clock.
   */
  charge(account: TermAccount, tag: string, used: ActualUsage): TermAccount {
    if (tag !== account.tag && !this.#isWrong(tag, account.tag)) return account;
    return {
      ...account,
      usedTokens: clamped(account.usedTokens + used.tokens),
      usedNanoUsd: clamped(account.usedNanoUsd + used.nanoUsd),
      recent: withUse(account.recent, used, this.#nowMs),
    };
  }

  #isWrong(tag: string, current: string): boolean {
    if (!isMonth(tag) || !isMonth(current)) return false;
    if (tag > current || this.#tagAt(this.#nowMs) !== current) return true;
    return tag < this.#tagAt(this.#nowMs - REPORTED_WITHIN_MS);
  }
}

export function isMonth(tag: string): boolean {
  return tag.startsWith("m:");
}

/** Raises the account to the ledger's sum; never lowers it (docs/rules/budgets.md#check-against-the-ledger). */
export function raiseTo(account: TermAccount, sum: ActualUsage): TermAccount {
  return {
    ...account,
    usedTokens: Math.max(account.usedTokens, sum.tokens),
    usedNanoUsd: Math.max(account.usedNanoUsd, sum.nanoUsd),
  };
}

/** The rest before the gate closes, per dimension; Infinity without a cap, negative after overuse. */
export interface Headroom {
  readonly tokens: number;
  readonly nanoUsd: number;
}

export function headroomOf(account: TermAccount, limits: TermLimits, reserved: Amounts): Headroom {
  return {
    tokens: limits.tokens === null ? Infinity : limits.tokens - account.usedTokens - reserved.termTokens,
    nanoUsd: limits.nanoUsd === null ? Infinity : limits.nanoUsd - account.usedNanoUsd - reserved.nanoUsd,
  };
}

/** Whether the gate is closed: used + reserved >= cap in tokens or cost, before the request is added. */
export function isExhausted({ tokens, nanoUsd }: Headroom): boolean {
  return tokens <= 0 || nanoUsd <= 0;
}

/** The larger of used/cap over tokens and cost, and which one it is; null without caps. A cap of 0 is a ratio of 1. */
export function usedRatio(
  account: TermAccount,
  limits: TermLimits,
): { readonly ratio: number; readonly unit: "tokens" | "USD" } | null {
  const of = (used: number, cap: number): number => (cap === 0 ? 1 : used / cap);
  const tokens = limits.tokens === null ? null : of(account.usedTokens, limits.tokens);
  const cost = limits.nanoUsd === null ? null : of(account.usedNanoUsd, limits.nanoUsd);
  if (tokens === null) return cost === null ? null : { ratio: cost, unit: "USD" };
  return cost === null || tokens >= cost ? { ratio: tokens, unit: "tokens" } : { ratio: cost, unit: "USD" };
}

/** Arms both alerts again when a cap was raised, or removed, and now lies above the use. */
export function rearm(account: TermAccount, before: TermLimits, limits: TermLimits, rev: number): TermAccount {
  const ratio = (of: TermLimits) => usedRatio(account, of)?.ratio ?? 0;
  const isAbove = ratio(limits) < Math.min(1, ratio(before));
  return isAbove && account.raised.length > 0 ? { ...account, raised: [], armedRev: rev } : account;
}

/**
 * The alert levels that the account has reached and not yet raised since they were armed, and the account with them marked
 * as raised.
 */
export function raiseAlerts(
  account: TermAccount,
  limits: TermLimits,
): { readonly account: TermAccount; readonly levels: readonly AlertLevel[] } {
  const ratio = usedRatio(account, limits)?.ratio ?? 0;
  const reached: AlertLevel[] = [];
  if (ratio >= 0.8) reached.push("warn");
  if (ratio >= 1) reached.push("exhausted");
  const levels = reached.filter((level) => !account.raised.includes(level));
  return levels.length === 0
    ? { account, levels }
    : { account: { ...account, raised: [...account.raised, ...levels] }, levels };
}
