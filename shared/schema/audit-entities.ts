/** What entries of the audit log are about (docs/rules/management-api.md#audit-log). */
export const AUDIT_ENTITIES = [
  "tenant",
  "api_key",
  "model",
  "model_endpoint",
  "managed_model",
  "model_replica",
  "recipe",
  "fairshare_group",
  "mcp_server",
  "settings",
  "usage",
  "user",
  "invitation",
  "group_grant",
  "benchmark",
  "batch",
  "gateway",
] as const;

export type AuditEntity = (typeof AUDIT_ENTITIES)[number];
