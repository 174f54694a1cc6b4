/**
 * The alerts of term budgets, with the texts of docs/rules/alerts.md#issues-and-texts. The id of an alert contains its
 * period and the cap that armed it: each is reported once, even when it is handed over several times.
 */
import { issueOf } from "../../../shared/alerts.ts";
import { usdOf } from "./amounts.ts";
import type { BudgetLimits, BudgetOwner, TermLimits } from "./limits.ts";
import { type Of, record, text } from "./shapes.ts";
import { type AlertLevel, type TermAccount, usedRatio } from "./term-budget.ts";

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

function amount(account: TermAccount, term: TermLimits): string {
  const unit = usedRatio(account, term)?.unit ?? "tokens";
  const [used, cap] =
    unit === "tokens"
      ? [String(account.usedTokens), String(term.tokens ?? 0)]
      : [usd(account.usedNanoUsd), usd(term.nanoUsd ?? 0)];
  return `${used} of ${cap} ${unit} (${term.period ?? "lifetime"})`;
}

export function budgetAlert(
  whose: BudgetOwner,
  level: AlertLevel,
  limits: BudgetLimits,
  account: TermAccount,
): BudgetAlert {
  const tenant = whose === "tenant";
  const who = tenant ? limits.tenant.name : `${limits.key.label} of ${limits.tenant.name}`;
  const term = tenant ? limits.tenant.term : limits.key.term;
  const alert = tenant ? (`term_budget_${level}` as const) : (`key_term_budget_${level}` as const);
  const issue = issueOf(alert, `${who}: ${amount(account, term)}`, `:${tenant ? limits.tenant.id : limits.key.id}`);
  return {
    id: `${issue.issueKey}@${account.tag}${account.armedRev === undefined ? "" : `#${account.armedRev}`}`,
    ...issue,
  };
}
