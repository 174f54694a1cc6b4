/** All of a tenant in one form, which is saved at once and sends only the fields that were changed. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import type { WeeklyWindow } from "../../../shared/access/access-window.ts";
import { TENANT_FIELDS } from "../../../shared/fields/tenant-fields.ts";
import { patchTenantSchema } from "../../../shared/schema/tenant.ts";
import { WeekGrid } from "../../charts/week-grid.tsx";
import { api, type Records } from "../../data/api.ts";
import { read } from "../../data/reads.ts";
import { useBudgetUsage } from "../../forms/budget/budget-state.tsx";
import { ChangeMeaning } from "../../forms/budget/change-meaning.tsx";
import { undoBudget } from "../../forms/budget/undo-budget.ts";
import { useOpenPart } from "../../forms/record/field-control.tsx";
import { fieldSpecs, valueSpec } from "../../forms/record/field-specs.ts";
import { ModelNames } from "../../forms/record/model-names.tsx";
import { RecordForm } from "../../forms/record/record-form.tsx";
import { TENANT_READS } from "../../forms/tenant-status.tsx";
import { tenantTexts } from "../../messages/en/tenant.ts";
import { texts } from "../../messages/texts.ts";
import { useNow } from "../../time/use-clock.tsx";
import { Panel } from "../../ui/layout.tsx";
import { detailsOf, TENANT_SECTIONS } from "./tenant-sections.tsx";
import type { TenantTabProps } from "./tenant-tab.ts";

const text = texts("tenant", tenantTexts);
const MINUTE_MS = 60_000;
const zones = ["UTC", ...Intl.supportedValuesOf("timeZone")];
const DETAILS = detailsOf(Object.keys(patchTenantSchema.shape));
const { limits, budget, allowList, schedule } = TENANT_SECTIONS;
const SPECS = [
  ...fieldSpecs([...DETAILS, ...limits, ...budget, ...allowList, ...schedule], TENANT_FIELDS),
  valueSpec("weekly_windows"),
];
/** The part of the form for a tab. */
const PARTS: Readonly<Record<string, string>> = {
  budget: budget[0],
  schedule: schedule[0],
  models: allowList[0],
};
const HEADINGS = {
  [DETAILS[0] ?? ""]: text("details"),
  [limits[0]]: text("limits"),
  weight: text("share"),
  budget_tokens: text("budget"),
  allowed_models: text("allowList"),
  active_from: text("term"),
};

export function TenantEditTab({ tenant, from = "" }: TenantTabProps) {
  useOpenPart(PARTS[from]);
  const { id, name, timezone: zone } = tenant;
  const queries = useQueryClient();
  const nowMs = useNow(MINUTE_MS);
  const usage = useBudgetUsage("tenant", id);
  const groups = useQuery(read("/api/v1/fairshare/groups"));
  return (
    <Panel title={text("edit")} note={text("editNote")}>
      <RecordForm
        what={text("settings")}
        name={name}
        specs={SPECS}
        schema={patchTenantSchema}
        record={tenant}
        zone={zone}
        sends="changed"
        undoOf={undoBudget}
        headings={HEADINGS}
        offered={{ timezone: zones, fairshare_group: groups.data?.map((group) => group.name) ?? [] }}
        controls={{
          allowed_models: (own) => <ModelNames name="allowed_models" {...own} />,
          weekly_windows: ({ typed, onType }) => (
            <WeekGrid windows={typed as readonly WeeklyWindow[]} zone={zone} nowMs={nowMs} onChange={onType} />
          ),
        }}
        note={(values) => <ChangeMeaning before={tenant} after={{ ...tenant, ...values }} usage={usage.data ?? null} />}
        send={async (body, header) =>
          await api.PATCH("/api/v1/tenants/{id}", {
            params: { path: { id }, header },
            body: body as Records["PatchTenant"],
          })
        }
        readNow={async () =>
          await queries.fetchQuery({ ...read("/api/v1/tenants/{id}", { params: { path: { id } } }), staleTime: 0 })
        }
        touches={TENANT_READS}
      />
    </Panel>
  );
}
