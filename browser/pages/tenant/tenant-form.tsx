/** One form of a tenant. It sends only the fields that were changed. */
import { useQueryClient } from "@tanstack/react-query";
import { RATE_FIELD_NAMES } from "../../../shared/fields/rates.ts";
import { TENANT_FIELDS } from "../../../shared/fields/tenant-fields.ts";
import { patchTenantSchema, updateTenantSchema } from "../../../shared/schema/tenant.ts";
import { api, type Records } from "../../data/api.ts";
import { useCurrentUser } from "../../data/current-user.ts";
import { read } from "../../data/reads.ts";
import { undoBudget } from "../../forms/budget/undo-budget.ts";
import { type FieldSpec, fieldSpecs, valueSpec } from "../../forms/record/field-specs.ts";
import { RecordForm } from "../../forms/record/record-form.tsx";
import { TENANT_READS } from "../../forms/tenant-status.tsx";

const specsOf = (...names: readonly string[]): readonly FieldSpec[] => fieldSpecs(names, TENANT_FIELDS);

/** The fields of each form. */
const FORMS = {
  details: specsOf(...updateTenantSchema.keyof().options),
  limits: specsOf(...RATE_FIELD_NAMES, "max_in_flight"),
  share: specsOf("weight"),
  groupTitle: specsOf("fairshare_group"),
  budget: specsOf(
    "budget_tokens",
    "budget_cost_usd",
    "budget_period",
    "budget_started_at",
    "end_user_budget_tokens",
    "end_user_budget_cost_usd",
    "end_user_budget_period",
  ),
  allowList: specsOf("allowed_models"),
  schedule: [...specsOf("active_from", "active_until"), valueSpec("weekly_windows")],
} as const satisfies Readonly<Record<string, readonly FieldSpec[]>>;

interface TenantFormProps extends Pick<Parameters<typeof RecordForm>[0], "offered" | "controls" | "note"> {
  readonly form: keyof typeof FORMS;
  /** What is edited, for messages. */
  readonly what: string;
  readonly tenant: Records["Tenant"];
}

/** The form; a `user` sees the values alone. */
export function TenantForm({ form, what, tenant, ...rest }: TenantFormProps) {
  const { id, name, timezone } = tenant;
  const { role } = useCurrentUser();
  const queries = useQueryClient();
  return (
    <RecordForm
      {...rest}
      what={what}
      name={name}
      specs={FORMS[form]}
      schema={patchTenantSchema}
      record={tenant}
      zone={timezone}
      sends="changed"
      undoOf={undoBudget}
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
      isReadOnly={role === "user"}
    />
  );
}
