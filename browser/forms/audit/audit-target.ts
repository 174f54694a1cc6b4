/** The view that shows the object of an entry of the audit log. Pure. */
import type { Records } from "../../data/api.ts";
import { deploymentTarget, type LinkTarget, modelTarget, pageTarget, tenantTarget } from "../../explain/link-target.ts";
import { settingTarget } from "../../explain/setting-tabs.ts";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

type Named = Pick<Records["AuditEntry"], "action" | "entity_type" | "entity_id" | "detail">;

/** Null: no page shows it. What was deleted has a page that says so. */
export function auditTarget({ action, entity_type, entity_id, detail }: Named): LinkTarget | null {
  const { model_id: modelId } = detail;
  const model = typeof modelId === "string" && UUID.test(modelId) ? modelId : null;
  switch (entity_type) {
    case "tenant":
      return tenantTarget(entity_id, "overview");
    case "api_key":
      return pageTarget("/keys", { key_id: entity_id });
    case "user":
      return pageTarget("/users", { user_id: entity_id });
    case "invitation":
    case "group_grant":
      return pageTarget("/users", { tab: entity_type === "invitation" ? "invitations" : "groups" });
    case "fairshare_group":
      return pageTarget("/fairshare", {});
    case "model":
      return modelTarget(entity_id, action === "update_model_health_config" ? "health" : "connection");
    case "managed_model":
      return deploymentTarget(entity_id);
    case "model_endpoint":
      return model === null ? null : modelTarget(model, "connection");
    case "model_replica":
      return model === null ? null : deploymentTarget(model);
    case "recipe":
      return pageTarget("/deployments", { tab: "recipes", recipe: entity_id });
    case "mcp_server":
      return pageTarget("/mcp", { server_id: entity_id });
    case "benchmark":
      return pageTarget("/assistant", { tab: "benchmark", benchmark: entity_id });
    case "settings":
      return action === "set_capacity" ? pageTarget("/fairshare", { cell: entity_id }) : settingTarget(entity_id);
    default:
      return null;
  }
}
