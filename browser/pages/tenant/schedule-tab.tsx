import type { WeeklyWindow } from "../../../shared/access/access-window.ts";
import { WeekGrid } from "../../charts/week-grid.tsx";
import { useCurrentUser } from "../../data/current-user.ts";
import { explainAccess } from "../../explain/explain-access.ts";
import { fieldLabel, valueText } from "../../forms/record/field-words.ts";
import { tenantTexts } from "../../messages/en/tenant.ts";
import { texts } from "../../messages/texts.ts";
import { useNow } from "../../time/use-clock.tsx";
import { zoneLabel } from "../../time/zones.ts";
import { Facts, Panel } from "../../ui/layout.tsx";
import { Notice } from "../../ui/states.tsx";
import { TenantForm } from "./tenant-form.tsx";
import type { TenantTabProps } from "./tenant-tab.ts";

const text = texts("tenant", tenantTexts);
const MINUTE_MS = 60_000;

/** When the tenant is served, by its own clock. */
export function ScheduleTab({ tenant }: TenantTabProps) {
  const { role } = useCurrentUser();
  const nowMs = useNow(MINUTE_MS);
  const { isServed, sentence, change } = explainAccess(tenant, nowMs);
  const { timezone: zone } = tenant;
  return (
    <Panel title={text("term")} note={text("byClock", { zone: zoneLabel(zone, nowMs) })}>
      <Notice tone={isServed ? "good" : "warn"}>
        {sentence} {change}
      </Notice>
      {role === "user" ? (
        <>
          <Facts
            facts={(["active_from", "active_until"] as const).map((name) => [
              fieldLabel(name),
              valueText(name, tenant[name], zone),
            ])}
          />
          <WeekGrid windows={tenant.weekly_windows} zone={zone} nowMs={nowMs} />
        </>
      ) : (
        <TenantForm
          form="schedule"
          what={text("schedule")}
          tenant={tenant}
          controls={{
            weekly_windows: ({ typed, onType }) => (
              <WeekGrid windows={typed as readonly WeeklyWindow[]} zone={zone} nowMs={nowMs} onChange={onType} />
            ),
          }}
        />
      )}
    </Panel>
  );
}
