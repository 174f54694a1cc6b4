/**
 * One term budget counter (tenant or key, decisions §19.2): period tags, the gate, rollover, ratio and the alerts that
 * it owes. It counts also without caps, so that a later cap sees the usage of its period. What is reserved is not in
 * here: live reservations belong to no period and move along.
 */
import type { Actual, Amounts } from "./amounts.ts";
import type { TermLimits } from "./limits.ts";

/** The calendar month of an instant in an IANA zone, `YYYY-MM`; an unknown zone counts as UTC. Handed in by the shell. */
export type MonthOf = (epochMs: number, zone: string) => string;

export type AlertLevel = "warn" | "exhausted";

export interface TermAccount {
  readonly tag: string;
  readonly usedTokens: number;
  readonly usedNanoUsd: number;
  /** Alerts raised under this tag. */
  readonly raised: readonly AlertLevel[];
}

/** The tag of the period that an instant lies in; another tag is another period. */
export function periodTag(limits: TermLimits, zone: string, atMs: number, monthOf: MonthOf): string {
  if (limits.period === "monthly") return `m:${monthOf(atMs, zone)}`;
  const startedAtSecs = limits.startedAtMs === null ? 0 : Math.floor(limits.startedAtMs / 1000);
  return `${limits.period === "term" ? "t" : "l"}:${startedAtSecs}`;
}

export function emptyAccount(tag: string): TermAccount {
  return { tag, usedTokens: 0, usedNanoUsd: 0, raised: [] };
}

/** The account under `tag`: emptied by a new period. A month never runs backwards, whatever a clock says. */
export function rollAccount(account: TermAccount, tag: string): TermAccount {
  if (account.tag === tag) return account;
  const backwards = account.tag.startsWith("m:") && tag.startsWith("m:") && tag < account.tag;
  return backwards ? account : emptyAccount(tag);
}

/** Adds what a request used, if its period is still the account's. */
export function chargeAccount(account: TermAccount, tag: string, used: Actual): TermAccount {
  if (account.tag !== tag) return account;
  return {
    ...account,
    usedTokens: account.usedTokens + used.tokens,
    usedNanoUsd: account.usedNanoUsd + used.nanoUsd,
  };
}

/** The ledger's word: it can only raise what the account knows (decisions §19.6). */
export function raiseTo(account: TermAccount, sum: Actual): TermAccount {
  return {
    ...account,
    usedTokens: Math.max(account.usedTokens, sum.tokens),
    usedNanoUsd: Math.max(account.usedNanoUsd, sum.nanoUsd),
  };
}

/** What is left before the gate closes, per dimension; Infinity without a cap, negative when overshot. */
export function roomIn(
  account: TermAccount,
  limits: TermLimits,
  reserved: Amounts,
): { tokens: number; nanoUsd: number } {
  return {
    tokens: limits.tokens === null ? Infinity : limits.tokens - account.usedTokens - reserved.termTokens,
    nanoUsd: limits.nanoUsd === null ? Infinity : limits.nanoUsd - account.usedNanoUsd - reserved.nanoUsd,
  };
}

/** Whether the gate is closed: used + reserved >= cap in tokens or cost, before the request is added. */
export function isClosed(account: TermAccount, limits: TermLimits, reserved: Amounts): boolean {
  const room = roomIn(account, limits, reserved);
  return room.tokens <= 0 || room.nanoUsd <= 0;
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

/** The alert levels that the account has reached and not yet raised in its period, and the account that has. */
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
