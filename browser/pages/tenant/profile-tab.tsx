import { useQuery } from "@tanstack/react-query";
import { api } from "../../data/api.ts";
import { useCurrentUser } from "../../data/current-user.ts";
import { read } from "../../data/reads.ts";
import { fieldHint, fieldLabel } from "../../forms/record/field-words.ts";
import { useAnnouncedWrite } from "../../forms/record/use-announced-write.ts";
import { TENANT_READS } from "../../forms/tenant-status.tsx";
import { tenantTexts } from "../../messages/en/tenant.ts";
import { texts } from "../../messages/texts.ts";
import { CheckField } from "../../ui/fields.tsx";
import { Grid, Panel } from "../../ui/layout.tsx";
import { useReadOnly } from "../../ui/read-only.ts";
import { TenantForm } from "./tenant-form.tsx";
import type { TenantTabProps } from "./tenant-tab.ts";

const text = texts("tenant", tenantTexts);
const zones = ["UTC", ...Intl.supportedValuesOf("timeZone")];

/** Who the tenant is, and what it may take. */
export function ProfileTab({ tenant }: TenantTabProps) {
  const { role } = useCurrentUser();
  const groups = useQuery(read("/api/v1/fairshare/groups", {}, { enabled: role === "admin" }));
  return (
    <Grid minWidth="wide">
      <Panel title={text("details")}>
        <TenantForm form="details" what={text("details")} tenant={tenant} offered={{ timezone: zones }} />
      </Panel>
      <Panel title={text("limits")}>
        <TenantForm form="limits" what={text("limits")} tenant={tenant} />
        {role === "admin" && (
          <>
            <TenantForm form="share" what={text("share")} tenant={tenant} />
            <TenantForm
              form="groupTitle"
              what={text("groupTitle")}
              tenant={tenant}
              offered={{ fairshare_group: groups.data?.map(({ name }) => name) ?? [] }}
            />
            <Switches tenant={tenant} />
          </>
        )}
      </Panel>
    </Grid>
  );
}

/** What is on or off at once, with undo. */
function Switches({ tenant: { id, name, tracing_enabled, synthetic } }: TenantTabProps) {
  const path = { params: { path: { id } } };
  const failed = (): string => text("switchFailed", { name });
  const isReadOnly = useReadOnly();
  const tracingText = (isOn: boolean): string => text(isOn ? "tracingOn" : "tracingOff", { name });
  const syntheticText = (isOn: boolean): string => text(isOn ? "syntheticOn" : "syntheticOff", { name });
  const tracing = useAnnouncedWrite<boolean>({
    send: async (isOn) => await api.PUT("/api/v1/tenants/{id}/tracing", { ...path, body: { tracing_enabled: isOn } }),
    touches: TENANT_READS,
    done: tracingText,
    failed,
    inverse: (isOn) => ({ variables: !isOn, done: tracingText(!isOn) }),
  });
  const marking = useAnnouncedWrite<boolean>({
    send: async (isOn) => await api.PUT("/api/v1/tenants/{id}/synthetic", { ...path, body: { synthetic: isOn } }),
    touches: TENANT_READS,
    done: syntheticText,
    failed,
    inverse: (isOn) => ({ variables: !isOn, done: syntheticText(!isOn) }),
  });
  return (
    <>
      <CheckField
        label={fieldLabel("tracing_enabled")}
        hint={fieldHint("tracing_enabled")}
        checked={tracing_enabled}
        disabled={isReadOnly || tracing.isBusy}
        onChange={(event) => tracing.run(event.target.checked)}
      />
      <CheckField
        label={fieldLabel("synthetic")}
        hint={fieldHint("synthetic")}
        checked={synthetic}
        disabled={isReadOnly || marking.isBusy}
        onChange={(event) => marking.run(event.target.checked)}
      />
    </>
  );
}
