/** The caps of a budget in a few words. Pure. */
import type { Records } from "../../data/api.ts";
import { tenantsTexts } from "../../messages/en/tenants.ts";
import { texts } from "../../messages/texts.ts";
import { formatShortCount, formatUsd } from "../../ui/format.ts";

const text = texts("tenants", tenantsTexts);
const PERIODS = { monthly: "perMonth", term: "perTerm", lifetime: "perLifetime" } as const;

/** `1M tokens, $50.00 a month`; a dash without caps. */
export function budgetCaps({
  budget_tokens,
  budget_cost_usd,
  budget_period,
}: Pick<Records["Tenant"], "budget_tokens" | "budget_cost_usd" | "budget_period">): string {
  const caps = [
    budget_tokens === null ? null : text("budgetTokens", { cap: formatShortCount(budget_tokens) }),
    budget_cost_usd === null ? null : formatUsd(budget_cost_usd),
  ].filter((cap) => cap !== null);
  if (caps.length === 0) return text("noBudget");
  return text(PERIODS[budget_period ?? "lifetime"], { cap: caps.join(", ") });
}
