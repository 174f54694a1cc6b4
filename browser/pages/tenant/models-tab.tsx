import { ModelNames } from "../../forms/record/model-names.tsx";
import { tenantTexts } from "../../messages/en/tenant.ts";
import { texts } from "../../messages/texts.ts";
import { Panel } from "../../ui/layout.tsx";
import { TenantForm } from "./tenant-form.tsx";
import type { TenantTabProps } from "./tenant-tab.ts";

const text = texts("tenant", tenantTexts);

/** Which models the tenant may use. */
export function ModelsTab({ tenant }: TenantTabProps) {
  return (
    <Panel title={text("allowList")} note={text("allowListNote")}>
      <TenantForm
        form="allowList"
        what={text("allowList")}
        tenant={tenant}
        controls={{ allowed_models: (own) => <ModelNames name="allowed_models" {...own} /> }}
      />
    </Panel>
  );
}
