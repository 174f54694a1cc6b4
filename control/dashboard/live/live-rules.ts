/**
 * What the console's browser may reach of the Management API (docs/rules/console.md#live). The list is closed: a route
 * that is not in it does not exist for a browser, and a test fails for a route of the API document about which nobody has
 * decided.
 */
import { TENANT_CHANGES } from "../../tenants/tenant-routes.ts";

/** How a request of a `user` is bound to the user's own tenant. Absent: users may not make it. */
type TenantRule =
  /** The first `{id}` of the path is the tenant. */
  | "tenant in path"
  /** The first `{id}` of the path is a key of the tenant. */
  | "key in path"
  /** The parameter `tenant_id` is set to the tenant, whatever the browser sent. */
  | "tenant in query"
  /** The answer's `tenant_id` is the tenant; else it is as if there were none. Only for reads. */
  | "tenant in answer"
  /** The answer is a list of models, of which the tenant's allowed ones remain. */
  | "allowed models";

export interface LiveRule {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Below /api/v1, with `{name}` for parameters. */
  readonly path: string;
  readonly user?: TenantRule;
  /** The fields that a `user` sees of each record; absent: all. */
  readonly fields?: readonly string[];
  /** Where a `user` sees all other fields, those that they do not; `a.b` is the field `b` of the object in `a`. */
  readonly hidden?: readonly string[];
  /** What a `user` may not say in a body: fields that only admins set. */
  readonly refused?: readonly string[];
  /** Read so often by every open page that requests of one second share an answer. */
  readonly shared?: true;
}

/** What a tenant's people see of a model: how to call it and what it costs, not where it runs. */
const MODEL_FIELDS = [
  "id",
  "model_name",
  "description",
  "model_type",
  "enabled",
  "context_window",
  "input_cost_per_token",
  "output_cost_per_token",
  "cached_input_cost_per_token",
  "reasoning_output_cost_per_token",
  "input_cost_per_second",
  "cost_per_image",
  "cost_per_character",
  "cost_per_audio_second",
  "supports_function_calling",
  "supports_system_messages",
  "supports_response_schema",
  "supports_tool_choice",
  "supports_vision",
  "tags",
  "health_status",
];

/** What a tenant's people see of a request: what it was, how it went and what it cost. */
const ROW_FIELDS = [
  "request_id",
  "ts_ms",
  "tenant_id",
  "tenant_name",
  "key_id",
  "key_name",
  "key_prefix",
  "model",
  "request_type",
  "session_id",
  "session_id_source",
  "admission",
  "cache_status",
  "device_id",
  "status_code",
  "error_code",
  "gateway_ms",
  "input_tokens",
  "output_tokens",
  "total_tokens",
  "cached_tokens",
  "reasoning_tokens",
  "input_seconds",
  "queue_wait_ms",
  "ttft_ms",
  "total_ms",
  "cost_usd",
  "energy_wh",
  "co2_g",
];

/** What the operator pays: a tenant's people pay by the prices of models. */
const OPERATOR_COSTS = ["energy_cost_usd"];

/** How a tenant shares with others: the names of groups tell who they are. */
const SHARES = ["weight", "fairshare_group"];

/** Of a tenant: what the operator has noted and decided about it, and the model that judges it, which it may not be allowed. */
const OPERATORS_OF_TENANT = ["description", ...SHARES, "synthetic", "tracing_enabled", "guardrails_policy.guard_model"];

const read = (path: string, rest: Omit<LiveRule, "method" | "path"> = {}): LiveRule => ({
  method: "GET",
  path,
  ...rest,
});
const admin = (method: LiveRule["method"], ...paths: readonly string[]): readonly LiveRule[] =>
  paths.map((path) => ({ method, path }));
const own = { user: "tenant in query" } as const;
const ownCosts = { ...own, hidden: OPERATOR_COSTS } as const;

/** What admins may change of a tenant. */
const tenantChanges = TENANT_CHANGES.map(({ method, at }): LiveRule => {
  return { method: method === "put" ? "PUT" : "PATCH", path: `/tenants/{id}/${at}` };
});

export const LIVE_RULES: readonly LiveRule[] = [
  ...tenantChanges,
  read("/tenants/{id}", { user: "tenant in path", hidden: OPERATORS_OF_TENANT }),
  read("/tenants/{id}/budget/usage", { user: "tenant in path" }),
  read("/tenants/{id}/keys", { user: "tenant in path" }),
  { method: "POST", path: "/tenants/{id}/keys", user: "tenant in path", refused: ["tracing_enabled"] },
  read("/keys/{id}", { user: "key in path" }),
  { method: "PUT", path: "/keys/{id}", user: "key in path" },
  { method: "POST", path: "/keys/{id}/rotate", user: "key in path" },
  { method: "PUT", path: "/keys/{id}/disabled", user: "key in path" },
  { method: "DELETE", path: "/keys/{id}", user: "key in path" },
  read("/keys/{id}/budget/usage", { user: "key in path" }),
  read("/keys/{id}/usage", { user: "key in path", hidden: OPERATOR_COSTS }),
  read("/keys", own),
  read("/models", { user: "allowed models", fields: MODEL_FIELDS }),
  read("/usage", own),
  read("/usage/keys", own),
  read("/usage/keys/summary", ownCosts),
  read("/usage/models", own),
  read("/usage/daily", ownCosts),
  read("/usage/series", own),
  read("/usage/series/models", own),
  read("/usage/breakdown", { ...own, hidden: [...OPERATOR_COSTS, ...SHARES] }),
  read("/usage/cache", own),
  read("/usage/logs", { ...own, fields: ROW_FIELDS }),
  read("/usage/logs/totals", own),
  read("/usage/logs/{request_id}", { user: "tenant in answer", fields: ROW_FIELDS }),
  read("/costs", ownCosts),
  read("/fairshare/live", { shared: true }),
  read("/overview/attention", { shared: true }),
  read("/overview/summary", { shared: true }),
  read("/stats", { shared: true }),
  ...admin(
    "GET",
    "/about",
    "/alerts",
    "/audit",
    "/backup/export",
    "/benchmarks",
    "/benchmarks/{id}",
    "/capacity",
    "/fairshare/groups",
    "/fairshare/history",
    "/jobsched/resources",
    "/managed",
    "/mcp-servers",
    "/mcp-servers/{id}",
    "/models/{id}",
    "/models/{id}/endpoints",
    "/models/{id}/health",
    "/models/{id}/managed",
    "/models/{id}/replicas",
    "/models/health",
    "/recipes",
    "/replicas",
    "/settings",
    "/settings/alerts",
    "/settings/assistant",
    "/settings/auto-router",
    "/settings/boons",
    "/settings/compressor",
    "/settings/energy",
    "/settings/jobsched",
    "/settings/usage-retention",
    "/tenants",
    "/usage/logs/{request_id}/spans",
    "/usage/series/tenants",
    "/users",
    "/users/{id}",
    "/version",
  ),
  ...admin(
    "POST",
    "/backup/restore",
    "/benchmarks",
    "/benchmarks/{id}/stop",
    "/fairshare/groups",
    "/guardrails/test",
    "/mcp-servers",
    "/mcp-servers/{id}/test",
    "/models",
    "/models/{id}/autotune",
    "/models/{id}/autotune/apply",
    "/models/{id}/endpoints",
    "/models/{id}/health/check",
    "/models/{id}/replicas/clear-lost",
    "/models/health",
    "/models/validate",
    "/recipes",
    "/replicas/{id}/restart",
    "/resync",
    "/settings/alerts/test",
    "/settings/energy/test",
    "/settings/jobsched/test",
    "/tenants",
    "/usage/compact",
  ),
  ...admin(
    "PUT",
    "/capacity",
    "/keys/{id}/tracing",
    "/mcp-servers/{id}",
    "/models/{id}",
    "/models/{id}/cache",
    "/models/{id}/capacity",
    "/models/{id}/capacity-mode",
    "/models/{id}/endpoints/{endpoint_id}",
    "/models/{id}/health/config",
    "/models/{id}/managed",
    "/models/{id}/reliability",
    "/models/{id}/weight",
    "/recipes/{id}",
    "/settings/alerts",
    "/settings/assistant",
    "/settings/auto-router",
    "/settings/boons",
    "/settings/energy",
    "/settings/jobsched",
    "/settings/usage-retention",
    "/tenants/{id}",
  ),
  ...admin(
    "PATCH",
    "/fairshare/groups/{name}/weight",
    "/keys/{id}",
    "/mcp-servers/{id}",
    "/models/{id}",
    "/models/{id}/managed",
    "/tenants/{id}",
    "/users/{id}",
  ),
  ...admin(
    "DELETE",
    "/mcp-servers/{id}",
    "/models/{id}",
    "/models/{id}/endpoints/{endpoint_id}",
    "/models/{id}/managed",
    "/recipes/{id}",
    "/replicas/{id}",
    "/tenants/{id}",
    "/users/{id}",
  ),
];
