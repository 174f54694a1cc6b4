import { useCurrentUser } from "../../data/current-user.ts";
import { tenantTarget } from "../../explain/link-target.ts";
import { BudgetState, useBudgetUsage } from "../../forms/budget/budget-state.tsx";
import { TargetLink } from "../../links/target-link.tsx";
import { budgetTexts } from "../../messages/en/budget.ts";
import { texts } from "../../messages/texts.ts";
import { Panel } from "../../ui/layout.tsx";
import { TenantFacts } from "./tenant-sections.tsx";
import type { TenantTabProps } from "./tenant-tab.ts";

const text = texts("budget", budgetTexts);

/** What of the budget is used and left, and what is set. */
export function BudgetTab({ tenant }: TenantTabProps) {
  const usage = useBudgetUsage("tenant", tenant.id);
  return (
    <>
      <Panel title={text("used")} actions={<Raise tenant={tenant} />}>
        <BudgetState usage={usage} zone={tenant.timezone} />
      </Panel>
      <Panel title={text("title")}>
        <TenantFacts section="budget" tenant={tenant} />
      </Panel>
    </>
  );
}

/** To the budget in the form. */
function Raise({ tenant: { id } }: TenantTabProps) {
  const { role, isReadOnly } = useCurrentUser();
  if (role !== "admin" || isReadOnly) return null;
  return (
    <TargetLink target={tenantTarget(id, "edit")} label={text("raise")} isButton>
      {text("raise")}
    </TargetLink>
  );
}
