/**
 * The alerts of term budgets, with the texts of docs/rules/alerts.md#issues-and-texts. The id of an alert contains its
 * period and the cap that armed it: each is reported once, even when it is handed over several times.
 */
import { issueOf } from "../../../shared/alerts.ts";
import { meanPerDay, type RunOut, runOutOf } from "../../../shared/money/run-out.ts";
import { dayIn, dayStartMs } from "../../../shared/time/zone-days.ts";
import { usdOf } from "./amounts.ts";
import type { BudgetLimits, BudgetOwner, TermLimits } from "./limits.ts";
import { type Of, record, text } from "./shapes.ts";
import { type AlertLevel, isMonth, type TermAccount, usedRatio } from "./term-budget.ts";

export const ALERT = record({
  /** `<issue key>@<period tag>`, with `#<revision>` when a raised cap has armed it again. */
  id: text,
  issueKey: text,
  title: text,
  /** One line, at most 500 characters. */
  detail: text,
});
export type BudgetAlert = Of<typeof ALERT>;

function usd(nanoUsd: number): string {
  return usdOf(nanoUsd)
    .toFixed(6)
    .replace(/\.?0+$/, "");
}

/** The cap that has the largest part used, in words, and whether it will last at the mean rate of its period. */
function amount(account: TermAccount, term: TermLimits, zone: string, nowMs: number): string {
  const unit = usedRatio(account, term)?.unit ?? "tokens";
  const [used, cap, said] =
    unit === "tokens"
      ? [account.usedTokens, term.tokens ?? 0, (tokens: number) => String(Math.ceil(tokens))]
      : [account.usedNanoUsd, term.nanoUsd ?? 0, usd];
  const period = periodOf(account, zone);
  const perDay = meanPerDay(used, period, nowMs);
  const outlook = runOutOf({ used, cap }, period, nowMs);
  const sum = `${said(used)} of ${said(cap)} ${unit} (${term.period ?? "lifetime"})`;
  if (perDay === null || outlook === null) return sum;
  return `${sum}; ${said(perDay)} a day, ${lasts(used < cap, period.endMs, outlook, said, (atMs) => dayIn(zone, atMs))}`;
}

function lasts(
  isLeft: boolean,
  endMs: number | null,
  { atMs, capToLast }: RunOut,
  said: (amount: number) => string,
  dayOf: (epochMs: number) => string,
): string {
  if (isLeft) return atMs === null ? "lasts until it resets" : `runs out on ${dayOf(atMs)} at this rate`;
  return endMs === null || capToLast === null
    ? "used up"
    : `${said(capToLast)} would last until it resets on ${dayOf(endMs)}`;
}

/** The period of an account, from its tag. */
function periodOf(
  { tag }: TermAccount,
  zone: string,
): { readonly startMs: number | null; readonly endMs: number | null } {
  const since = tag.slice(2);
  if (!isMonth(tag)) return { startMs: Number(since) > 0 ? Number(since) * 1000 : null, endMs: null };
  const [year = 0, month = 0] = since.split("-").map(Number);
  const next = month === 12 ? `${year + 1}-01` : `${year}-${String(month + 1).padStart(2, "0")}`;
  const [startMs, endMs] = [dayStartMs(zone, `${since}-01`), dayStartMs(zone, `${next}-01`)];
  // a month that no calendar has comes from a damaged row
  return Number.isFinite(endMs - startMs) ? { startMs, endMs } : { startMs: null, endMs: null };
}

/** A zone that is not valid counts as UTC. */
function usableZone(zone: string): string {
  try {
    dayIn(zone, 0);
    return zone;
  } catch {
    return "UTC";
  }
}

export function budgetAlert(
  whose: BudgetOwner,
  level: AlertLevel,
  limits: BudgetLimits,
  account: TermAccount,
  nowMs: number,
): BudgetAlert {
  const tenant = whose === "tenant";
  const who = tenant ? limits.tenant.name : `${limits.key.label} of ${limits.tenant.name}`;
  const term = tenant ? limits.tenant.term : limits.key.term;
  const alert = tenant ? (`term_budget_${level}` as const) : (`key_term_budget_${level}` as const);
  const said = amount(account, term, usableZone(limits.tenant.timezone), nowMs);
  const issue = issueOf(alert, `${who}: ${said}`, `:${tenant ? limits.tenant.id : limits.key.id}`);
  return {
    id: `${issue.issueKey}@${account.tag}${account.armedRev === undefined ? "" : `#${account.armedRev}`}`,
    ...issue,
  };
}
