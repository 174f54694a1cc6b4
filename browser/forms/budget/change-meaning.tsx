import type { BudgetUsage } from "../../../shared/schema/budget.ts";
import { budgetTexts } from "../../messages/en/budget.ts";
import { texts } from "../../messages/texts.ts";
import { Notice } from "../../ui/states.tsx";
import { budgetChangeSentences } from "./budget-change.ts";

const text = texts("budget", budgetTexts);
type BudgetFields = Parameters<typeof budgetChangeSentences>[0];

/** Above the button that saves a budget: what follows from it. */
export function ChangeMeaning({
  before,
  after,
  usage,
}: {
  readonly before: BudgetFields;
  readonly after: BudgetFields;
  readonly usage: BudgetUsage | null;
}) {
  const sentences = budgetChangeSentences(before, after, usage);
  if (sentences.length === 0) return null;
  return (
    <Notice>
      <strong>{text("changeMeans")}</strong>
      {sentences.map((sentence) => (
        <p key={sentence}>{sentence}</p>
      ))}
    </Notice>
  );
}
