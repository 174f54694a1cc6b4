import { BudgetState, useBudgetUsage } from "../../forms/budget/budget-state.tsx";
import { budgetTexts } from "../../messages/en/budget.ts";
import { texts } from "../../messages/texts.ts";
import { Panel } from "../../ui/layout.tsx";
import { EditLink, TenantFacts } from "./tenant-sections.tsx";
import type { TenantTabProps } from "./tenant-tab.ts";

const text = texts("budget", budgetTexts);

/** What of the budget is used and left, and what is set. */
export function BudgetTab({ tenant }: TenantTabProps) {
  const usage = useBudgetUsage("tenant", tenant.id);
  return (
    <>
      <Panel title={text("used")} actions={<EditLink tenant={tenant}>{text("raise")}</EditLink>}>
        <BudgetState usage={usage} zone={tenant.timezone} />
      </Panel>
      <Panel title={text("title")}>
        <TenantFacts section="budget" tenant={tenant} />
      </Panel>
    </>
  );
}
