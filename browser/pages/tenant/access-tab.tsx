import { WeekGrid } from "../../charts/week-grid.tsx";
import { explainAccess } from "../../explain/explain-access.ts";
import { tenantTexts } from "../../messages/en/tenant.ts";
import { texts } from "../../messages/texts.ts";
import { useNow } from "../../time/use-clock.tsx";
import { zoneLabel } from "../../time/zones.ts";
import { Panel, Stack } from "../../ui/layout.tsx";
import { Notice } from "../../ui/states.tsx";
import { EditLink, TenantFacts } from "./tenant-sections.tsx";
import type { TenantTabProps } from "./tenant-tab.ts";

const text = texts("tenant", tenantTexts);
const MINUTE_MS = 60_000;

/** Which models the tenant may use, and when, by its own clock. */
export function AccessTab({ tenant }: TenantTabProps) {
  const nowMs = useNow(MINUTE_MS);
  const { isServed, sentence, change } = explainAccess(tenant, nowMs);
  const { timezone: zone } = tenant;
  return (
    <Stack>
      <Panel title={text("term")} note={text("byClock", { zone: zoneLabel(zone, nowMs) })}>
        <Notice tone={isServed ? "good" : "warn"}>
          {sentence} {change}
        </Notice>
        {(tenant.active_from ?? tenant.active_until) !== null && <TenantFacts section="schedule" tenant={tenant} />}
        <WeekGrid windows={tenant.weekly_windows} zone={zone} nowMs={nowMs} />
      </Panel>
      <Panel
        title={text("allowList")}
        note={text("allowListNote")}
        actions={<EditLink tenant={tenant}>{text("chooseModels")}</EditLink>}
      >
        {tenant.allowed_models === null ? (
          <Notice>{text("allModels")}</Notice>
        ) : (
          <TenantFacts section="allowList" tenant={tenant} />
        )}
      </Panel>
    </Stack>
  );
}
