/** What a budget has left, in words (docs/rules/budgets.md#usage-read). Pure. */
import type { BudgetUsage } from "../../shared/schema/budget.ts";
import { explainTexts } from "../messages/en/explain.ts";
import { texts } from "../messages/texts.ts";
import { resetSentence } from "../time/next-reset.ts";
import { formatCount, formatShare, formatUsd } from "../ui/format.ts";
import { runOutSentence } from "./run-out.ts";

const text = texts("explain", explainTexts);

/** A budget in words. */
interface BudgetExplanation {
  readonly tone: "neutral" | "good" | "warn" | "bad";
  readonly title: string;
  readonly sentences: readonly string[];
  /** When it runs out, and what would make it last; null: not known, or nothing is limited. */
  readonly outlook: string | null;
}

const TONES = { none: "neutral", ok: "good", warned: "warn", exhausted: "bad" } as const;

/** What is used, reserved and left of each cap, when it resets by the tenant's clock, and when it runs out. */
export function explainBudget(usage: BudgetUsage, tenantZone: string, nowMs: number): BudgetExplanation {
  const { state, budget_tokens, budget_cost_usd } = usage;
  const sentences: string[] = [];
  if (budget_tokens !== null)
    sentences.push(
      text("budgetTokens", {
        used: formatCount(usage.used_tokens),
        cap: formatCount(budget_tokens),
        share: shareOf(usage.used_tokens, budget_tokens),
        reserved: formatCount(usage.reserved_tokens),
        left: formatCount(usage.remaining_tokens),
      }),
    );
  if (budget_cost_usd !== null)
    sentences.push(
      text("budgetUsd", {
        used: formatUsd(usage.used_cost_usd),
        cap: formatUsd(budget_cost_usd),
        share: shareOf(usage.used_cost_usd, budget_cost_usd),
        reserved: formatUsd(usage.reserved_cost_usd),
        left: formatUsd(usage.remaining_cost_usd),
      }),
    );
  if (sentences.length === 0)
    sentences.push(text("budgetUncapped", { tokens: usage.used_tokens, usd: formatUsd(usage.used_cost_usd) }));
  else sentences.push(resetSentence(usage, tenantZone, nowMs));
  const outlook = runOutSentence(usage, tenantZone, nowMs);
  return { tone: TONES[state], title: text(`budget_${state}`), sentences, outlook };
}

/** A cap of 0 is used up. */
function shareOf(used: number, cap: number): string {
  return formatShare(cap === 0 ? 1 : used / cap);
}
