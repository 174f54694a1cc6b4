/**
 * The alerts of term budgets, with the texts of docs/rules/alerts.md#issues-and-texts. The id of an alert contains its
 * period and the cap that armed it: each is reported once, even when it is handed over several times.
 */
import { issueOf } from "../../../shared/alerts.ts";
import { type RunOut, ratePerDay, runOutOf } from "../../../shared/money/run-out.ts";
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

/** The cap that has the largest part used, in words, and whether it will last at the recent rate. */
function amount(account: TermAccount, term: TermLimits, zone: string, nowMs: number): string {
  const unit = usedRatio(account, term)?.unit ?? "tokens";
  const [used, cap, said] =
    unit === "tokens"
      ? [account.usedTokens, term.tokens ?? 0, (tokens: number) => String(Math.ceil(tokens))]
      : [account.usedNanoUsd, term.nanoUsd ?? 0, usd];
  const rate = ratePerDay(account.recent, unit === "tokens" ? "tokens" : "nanoUsd", nowMs);
  const sum = `${said(used)} of ${said(cap)} ${unit} (${term.period ?? "lifetime"})`;
  const endMs = monthEndMs(account, zone);
  if (rate === null || (used >= cap && endMs === null)) return sum;
  const outlook = runOutOf({ used, cap, perDay: rate }, endMs, nowMs);
  return `${sum}; ${said(rate)} a day, ${lasts(used < cap, endMs, outlook, said, (atMs) => dayIn(zone, atMs))}`;
}

function lasts(
  isLeft: boolean,
  endMs: number | null,
  { atMs, capToLast }: RunOut,
  said: (amount: number) => string,
  dayOf: (epochMs: number) => string,
): string {
  const isOut = atMs !== null;
  const out = !isLeft ? "used up" : isOut ? `runs out on ${dayOf(atMs)} at this rate` : "not used up at this rate";
  if (endMs === null || capToLast === null) return out;
  const reset = `it resets on ${dayOf(endMs)}`;
  return isOut
    ? `${out}, ${said(capToLast)} would last until ${reset}`
    : `${said(capToLast)} will be used when ${reset}`;
}

/** When the month of an account ends, from its tag; null: it counts no month. */
function monthEndMs({ tag }: TermAccount, zone: string): number | null {
  if (!isMonth(tag)) return null;
  const [year = 0, month = 0] = tag.slice(2).split("-").map(Number);
  const next = month === 12 ? `${year + 1}-01` : `${year}-${String(month + 1).padStart(2, "0")}`;
  const endMs = dayStartMs(zone, `${next}-01`);
  // a month that no calendar has comes from a damaged row
  return Number.isFinite(endMs) ? endMs : null;
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
  // names are data: quoted, none of them can pass for the text around it
  const who = `${JSON.stringify(limits.tenant.name)}${tenant ? "" : `, key ${JSON.stringify(limits.key.label)}`}`;
  const term = tenant ? limits.tenant.term : limits.key.term;
  const alert = tenant ? (`term_budget_${level}` as const) : (`key_term_budget_${level}` as const);
  const said = amount(account, term, usableZone(limits.tenant.timezone), nowMs);
  const issue = issueOf(alert, `${who}: ${said}`, `:${tenant ? limits.tenant.id : limits.key.id}`);
  return {
    id: `${issue.issueKey}@${account.tag}${account.armedRev === undefined ? "" : `#${account.armedRev}`}`,
    ...issue,
  };
}
