import { TENANT_FIELDS } from "../../../shared/fields/tenant-fields.ts";
import { guardrailsPolicyPatch } from "../../../shared/schema/tenant-policy.ts";
import { api, type Records } from "../../data/api.ts";
import { useCurrentUser } from "../../data/current-user.ts";
import { objectSpecs } from "../../forms/record/field-specs.ts";
import { tenantTexts } from "../../messages/en/tenant.ts";
import { texts } from "../../messages/texts.ts";
import { GuardrailsTrial } from "./guardrails-trial.tsx";
import { PolicyForm } from "./policy-form.tsx";
import type { TenantTabProps } from "./tenant-tab.ts";

const text = texts("tenant", tenantTexts);
const SPECS = objectSpecs(TENANT_FIELDS.guardrails_policy.value.unwrap());

/** What is looked for in the tenant's prompts and answers, and a trial of it on a text (docs/rules/guardrails.md#trials). */
export function GuardrailsTab({ tenant }: TenantTabProps) {
  const { role } = useCurrentUser();
  return (
    <PolicyForm
      tenant={tenant}
      field="guardrails_policy"
      title={text("guardrails")}
      offText={text("policyOff")}
      specs={SPECS}
      schema={guardrailsPolicyPatch}
      send={async (policy, header) =>
        await api.PATCH("/api/v1/tenants/{id}/guardrails", {
          params: { path: { id: tenant.id }, header },
          body: { policy: policy as Records["TenantGuardrails"]["policy"] },
        })
      }
      {...(role === "admin" ? { note: (values) => <GuardrailsTrial policy={values} /> } : {})}
    />
  );
}
