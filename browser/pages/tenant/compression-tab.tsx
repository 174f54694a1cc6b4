import { TENANT_FIELDS } from "../../../shared/fields/tenant-fields.ts";
import { compressionPolicyPatch } from "../../../shared/schema/tenant-policy.ts";
import { api, type Records } from "../../data/api.ts";
import { objectSpecs } from "../../forms/record/field-specs.ts";
import { tenantTexts } from "../../messages/en/tenant.ts";
import { texts } from "../../messages/texts.ts";
import { PolicyForm } from "./policy-form.tsx";
import type { TenantTabProps } from "./tenant-tab.ts";

const text = texts("tenant", tenantTexts);
const SPECS = objectSpecs(TENANT_FIELDS.compression_policy.value.unwrap());

/** What may be left out of the tenant's prompts (docs/rules/compression.md#which-passes-run). */
export function CompressionTab({ tenant }: TenantTabProps) {
  return (
    <PolicyForm
      tenant={tenant}
      field="compression_policy"
      title={text("compression")}
      offText={text("compressionOff")}
      specs={SPECS}
      schema={compressionPolicyPatch}
      send={async (policy, header) =>
        await api.PATCH("/api/v1/tenants/{id}/compression", {
          params: { path: { id: tenant.id }, header },
          body: { policy: policy as Records["TenantCompression"]["policy"] },
        })
      }
    />
  );
}
