import { BudgetState, useBudgetUsage } from "../../forms/budget/budget-state.tsx";
import { ChangeMeaning } from "../../forms/budget/change-meaning.tsx";
import { budgetTexts } from "../../messages/en/budget.ts";
import { texts } from "../../messages/texts.ts";
import { Panel } from "../../ui/layout.tsx";
import { TenantForm } from "./tenant-form.tsx";
import type { TenantTabProps } from "./tenant-tab.ts";

const text = texts("budget", budgetTexts);

/** What of the budget is used and left, and its change with what that means. */
export function BudgetTab({ tenant }: TenantTabProps) {
  const usage = useBudgetUsage("tenant", tenant.id);
  return (
    <>
      <Panel title={text("used")}>
        <BudgetState usage={usage} zone={tenant.timezone} />
      </Panel>
      <Panel title={text("edit")}>
        <TenantForm
          form="budget"
          what={text("title")}
          tenant={tenant}
          note={(values) => (
            <ChangeMeaning before={tenant} after={{ ...tenant, ...values }} usage={usage.data ?? null} />
          )}
        />
      </Panel>
    </>
  );
}
