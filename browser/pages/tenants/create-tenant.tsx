import { useQuery, useQueryClient } from "@tanstack/react-query";
import { NO_RATES, RATE_FIELD_NAMES } from "../../../shared/fields/rates.ts";
import { TENANT_FIELDS } from "../../../shared/fields/tenant-fields.ts";
import { createTenantSchema, updateTenantSchema } from "../../../shared/schema/tenant.ts";
import { answerValue, api, type Records } from "../../data/api.ts";
import { read } from "../../data/reads.ts";
import { CreateForm } from "../../forms/record/create-form.tsx";
import { fieldSpecs } from "../../forms/record/field-specs.ts";
import { TENANT_READS } from "../../forms/tenant-status.tsx";
import { tenantsTexts } from "../../messages/en/tenants.ts";
import { texts } from "../../messages/texts.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { toast } from "../../ui/toast.ts";

const text = texts("tenants", tenantsTexts);
/** The other fields have their pages once the tenant is there. */
const SPECS = fieldSpecs(
  [
    ...updateTenantSchema.keyof().options,
    "budget_tokens",
    "budget_cost_usd",
    "budget_period",
    "weight",
    ...RATE_FIELD_NAMES,
    "max_in_flight",
    "fairshare_group",
    "synthetic",
  ],
  TENANT_FIELDS,
);
const zones = Intl.supportedValuesOf("timeZone");

/** A new tenant, by the table of a tenant's fields. */
export function CreateTenant({
  onCreated,
  onClose,
}: {
  readonly onCreated: (id: string) => void;
  readonly onClose: () => void;
}) {
  const queries = useQueryClient();
  const groups = useQuery(read("/api/v1/fairshare/groups"));
  const initial = { timezone: Intl.DateTimeFormat().resolvedOptions().timeZone, weight: 100, ...NO_RATES };
  return (
    <Dialog isOpen isKept onClose={onClose} title={text("createTitle")}>
      <CreateForm
        specs={SPECS}
        schema={createTenantSchema}
        initial={{ ...initial, fairshare_group: "default" }}
        zone="UTC"
        headings={{ budget_tokens: text("createMore") }}
        foldFrom="budget_tokens"
        submitLabel={text("create")}
        offered={{ timezone: ["UTC", ...zones], fairshare_group: groups.data?.map(({ name }) => name) ?? [] }}
        onSubmit={async (body, idempotencyKey) => {
          const made = answerValue(
            await api.POST("/api/v1/tenants", {
              params: { header: { "idempotency-key": idempotencyKey } },
              body: body as Records["CreateTenant"],
            }),
          );
          toast({ title: text("created", { name: made.name }) });
          for (const path of TENANT_READS) void queries.invalidateQueries({ queryKey: [path] });
          onCreated(made.id);
        }}
      />
    </Dialog>
  );
}
