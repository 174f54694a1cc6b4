/** One form of a tenant: which fields it has follows from the body of its route and the table of a tenant's fields. */
import { useQueryClient } from "@tanstack/react-query";
import { TENANT_FIELDS } from "../../../shared/fields/tenant-fields.ts";
import {
  tenantAllowlistSchema,
  tenantBudgetSchema,
  tenantGroupSchema,
  tenantQuotaSchema,
  tenantScheduleSchema,
  tenantWeightSchema,
  updateTenantSchema,
} from "../../../shared/schema/tenant.ts";
import { api, type Records } from "../../data/api.ts";
import { useCurrentUser } from "../../data/current-user.ts";
import { read } from "../../data/reads.ts";
import type { FieldValues } from "../../forms/record/drafts.ts";
import { type FieldSpec, fieldSpecs, valueSpec } from "../../forms/record/field-specs.ts";
import { RecordForm } from "../../forms/record/record-form.tsx";
import type { Answered } from "../../forms/record/use-announced-write.ts";
import { TENANT_READS } from "../../forms/tenant-status.tsx";

const specsOf = ({ shape }: { readonly shape: object }): readonly FieldSpec[] =>
  fieldSpecs(Object.keys(shape), TENANT_FIELDS);

/** The routes whose bodies are forms, with what each one takes. */
const FORMS = {
  details: {
    schema: updateTenantSchema,
    specs: specsOf(updateTenantSchema),
    sends: "changed",
    send: async (id: string, body: FieldValues): Answered =>
      await api.PUT("/api/v1/tenants/{id}", { params: { path: { id } }, body: body as Records["UpdateTenant"] }),
  },
  limits: {
    schema: tenantQuotaSchema,
    specs: specsOf(tenantQuotaSchema),
    sends: "all",
    send: async (id: string, body: FieldValues): Answered =>
      await api.PUT("/api/v1/tenants/{id}/quota", { params: { path: { id } }, body: body as Records["TenantQuota"] }),
  },
  share: {
    schema: tenantWeightSchema,
    specs: specsOf(tenantWeightSchema),
    sends: "all",
    send: async (id: string, body: FieldValues): Answered =>
      await api.PATCH("/api/v1/tenants/{id}/weight", {
        params: { path: { id } },
        body: body as Records["TenantWeight"],
      }),
  },
  groupTitle: {
    schema: tenantGroupSchema,
    specs: specsOf(tenantGroupSchema),
    sends: "all",
    send: async (id: string, body: FieldValues): Answered =>
      await api.PATCH("/api/v1/tenants/{id}/group", { params: { path: { id } }, body: body as Records["TenantGroup"] }),
  },
  budget: {
    schema: tenantBudgetSchema,
    specs: specsOf(tenantBudgetSchema),
    sends: "all",
    send: async (id: string, body: FieldValues): Answered =>
      await api.PATCH("/api/v1/tenants/{id}/budget", {
        params: { path: { id } },
        body: body as Records["TenantBudget"],
      }),
  },
  allowList: {
    schema: tenantAllowlistSchema,
    specs: specsOf(tenantAllowlistSchema),
    sends: "all",
    send: async (id: string, body: FieldValues): Answered =>
      await api.PATCH("/api/v1/tenants/{id}/allowlist", {
        params: { path: { id } },
        body: body as Records["TenantAllowlist"],
      }),
  },
  schedule: {
    schema: tenantScheduleSchema,
    specs: [...fieldSpecs(["active_from", "active_until"], TENANT_FIELDS), valueSpec("weekly_windows")],
    sends: "all",
    send: async (id: string, body: FieldValues): Answered =>
      await api.PATCH("/api/v1/tenants/{id}/schedule", {
        params: { path: { id } },
        body: body as Records["TenantSchedule"],
      }),
  },
} as const;

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
  const { schema, specs, sends, send } = FORMS[form];
  return (
    <RecordForm
      {...rest}
      what={what}
      name={name}
      specs={specs}
      schema={schema}
      record={tenant}
      zone={timezone}
      sends={sends}
      send={async (body) => await send(id, body)}
      readNow={async () =>
        await queries.fetchQuery({ ...read("/api/v1/tenants/{id}", { params: { path: { id } } }), staleTime: 0 })
      }
      touches={TENANT_READS}
      isReadOnly={role === "user"}
    />
  );
}
