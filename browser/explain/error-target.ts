/** Where in the console an error of the gateway can be ended, and by whom. Pure. */
import type { ErrorCode } from "../../shared/errors.ts";
import type { UsageRow } from "../../shared/usage/usage-row.ts";
import { isErrorCode } from "./explain-error.ts";
import { type LinkTarget, modelTarget, pageTarget, tenantTarget } from "./link-target.ts";

/** A tab of the tenant's page, or what to look at elsewhere. */
type Place = "overview" | "access" | "budget" | "policies" | "key" | "fairshare" | "model";

/** Errors that end on a page of the console. Of the others some end at the client, and some have no page. */
const PLACES: Partial<Record<ErrorCode, Place>> = {
  request_blocked: "policies",
  response_blocked: "policies",
  content_policy_unavailable: "policies",
  tenant_not_active: "overview",
  tenant_not_started: "access",
  tenant_expired: "access",
  outside_access_window: "access",
  tenant_budget_exhausted: "budget",
  end_user_budget_exhausted: "budget",
  request_larger_than_quota: "overview",
  token_budget_exceeded: "overview",
  request_rate_exceeded: "overview",
  model_not_permitted: "access",
  api_key_disabled: "key",
  api_key_expired: "key",
  key_budget_exhausted: "key",
  queue_full: "fairshare",
  upstream_failed: "model",
  upstream_timeout: "model",
  upstream_stream_error: "model",
  model_disabled: "model",
};

/** Errors that a tenant's own users cannot end themselves, whatever they send. */
const OPERATORS_ONLY: ReadonlySet<string> = new Set<ErrorCode>([
  "tenant_not_found",
  "tenant_not_active",
  "tenant_not_started",
  "tenant_expired",
  "outside_access_window",
  "model_disabled",
  "tenant_budget_exhausted",
  "end_user_budget_exhausted",
  "mcp_server_disabled",
  "internal_error",
  "upstream_failed",
  "mcp_upstream_failed",
  "scheduler_unavailable",
  "budget_check_failed",
  "key_budget_check_failed",
  "content_policy_unavailable",
  "no_model_available",
  "key_store_unavailable",
  "identity_unavailable",
]);

/** The view where the error of a row can be ended; null when there is none. */
export function errorTarget(
  code: string,
  { tenant_id, key_id, model }: Pick<UsageRow, "tenant_id" | "key_id" | "model">,
): LinkTarget | null {
  const place = isErrorCode(code) ? PLACES[code] : undefined;
  switch (place) {
    case undefined:
      return null;
    case "key":
      return pageTarget("/keys", { key_id });
    case "fairshare":
      return pageTarget("/fairshare", { tenant_id });
    case "model":
      return model === "" ? null : modelTarget(model, "connection");
    default:
      return tenantTarget(tenant_id, place);
  }
}

/** True for an error that only an operator of the gateway can end. */
export function isForOperators(code: string): boolean {
  return OPERATORS_ONLY.has(code);
}
