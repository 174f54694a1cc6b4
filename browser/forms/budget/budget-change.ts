/** What a changed budget means for requests, in words (docs/rules/budgets.md#term-budgets). Pure. */
import type { BudgetUsage } from "../../../shared/schema/budget.ts";
import { budgetTexts } from "../../messages/en/budget.ts";
import { texts } from "../../messages/texts.ts";
import { formatCount, formatUsd } from "../../ui/format.ts";

const text = texts("budget", budgetTexts);

interface BudgetFields {
  readonly budget_tokens: number | null;
  readonly budget_cost_usd: number | null;
  readonly budget_period: string | null;
  readonly budget_started_at: string | null;
}

type Used = Pick<BudgetUsage, "used_tokens" | "reserved_tokens" | "used_cost_usd" | "reserved_cost_usd">;

/** One sentence for each thing that follows from a change; none when nothing is changed. `used` is null while it is not known. */
export function budgetChangeSentences(before: BudgetFields, after: BudgetFields, used: Used | null): readonly string[] {
  if (JSON.stringify(limitsOf(before)) === JSON.stringify(limitsOf(after))) return [];
  const isReset = beginsAnew(before, after);
  const sentences: string[] = [];
  if (isReset) sentences.push(text("changeReset"));
  else if (before.budget_period !== after.budget_period) sentences.push(text("changePeriod"));
  sentences.push(
    ...capSentences(
      after.budget_tokens,
      isReset ? 0 : used === null ? null : used.used_tokens + used.reserved_tokens,
      formatCount,
      "tokens",
    ),
    ...capSentences(
      after.budget_cost_usd,
      isReset ? 0 : used === null ? null : used.used_cost_usd + used.reserved_cost_usd,
      formatUsd,
      "usd",
    ),
  );
  if (after.budget_tokens === null && after.budget_cost_usd === null) sentences.push(text("changeNoCap"));
  return sentences;
}

function limitsOf({ budget_tokens, budget_cost_usd, budget_period, budget_started_at }: BudgetFields): unknown {
  return [budget_tokens, budget_cost_usd, budget_period, budget_started_at];
}

/** The counters of a lifetime and of a term go with their begin; a month's with the calendar. */
function beginsAnew(before: BudgetFields, after: BudgetFields): boolean {
  return (
    after.budget_period === before.budget_period &&
    after.budget_period !== "monthly" &&
    before.budget_started_at !== after.budget_started_at &&
    after.budget_started_at !== null
  );
}

function capSentences(
  cap: number | null,
  used: number | null,
  format: (amount: number) => string,
  unit: "tokens" | "usd",
): readonly string[] {
  // What is being typed is a number only once the form has validated it.
  if (typeof cap !== "number" || !Number.isFinite(cap)) return [];
  if (cap === 0) return [text(`changeZero_${unit}`)];
  if (used === null) return [];
  if (used >= cap) return [text(`changeBelow_${unit}`, { used: format(used), cap: format(cap) })];
  return [text(`changeLeft_${unit}`, { left: format(cap - used) })];
}
