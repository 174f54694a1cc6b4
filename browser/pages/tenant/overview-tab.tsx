/** What a tenant does and has: spend, budget, what runs and waits, and its last failures. */
import { BudgetState, useBudgetUsage } from "../../forms/budget/budget-state.tsx";
import { LastFailures } from "../../forms/usage/last-failures.tsx";
import { tenantTexts } from "../../messages/en/tenant.ts";
import { texts } from "../../messages/texts.ts";
import { Grid, Panel, Stack } from "../../ui/layout.tsx";
import { TenantFacts } from "./tenant-sections.tsx";
import type { TenantTabProps } from "./tenant-tab.ts";
import { TenantTiles } from "./tenant-tiles.tsx";

const text = texts("tenant", tenantTexts);

export function TenantOverviewTab({ tenant }: TenantTabProps) {
  const usage = useBudgetUsage("tenant", tenant.id);
  return (
    <Stack>
      <TenantTiles tenant={tenant} />
      <Grid minWidth="wide">
        <Panel title={text("budget")}>
          <BudgetState usage={usage} zone={tenant.timezone} />
        </Panel>
        <LastFailures filter={{ tenant_id: tenant.id }} />
      </Grid>
      <Grid minWidth="wide">
        <Panel title={text("limits")}>
          <TenantFacts section="limits" tenant={tenant} />
        </Panel>
        <Panel title={text("details")}>
          <TenantFacts section="details" tenant={tenant} />
        </Panel>
      </Grid>
    </Stack>
  );
}
