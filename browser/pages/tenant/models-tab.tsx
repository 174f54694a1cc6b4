import { tenantTexts } from "../../messages/en/tenant.ts";
import { texts } from "../../messages/texts.ts";
import { Panel } from "../../ui/layout.tsx";
import { Notice } from "../../ui/states.tsx";
import { EditLink, TenantFacts } from "./tenant-sections.tsx";
import type { TenantTabProps } from "./tenant-tab.ts";

const text = texts("tenant", tenantTexts);

/** Which models the tenant may use. */
export function ModelsTab({ tenant }: TenantTabProps) {
  return (
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
  );
}
