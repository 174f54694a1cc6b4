/**
 * Fields of a tenant that a creation does not take (docs/rules/tenants.md#writes). Ignored, they would leave a tenant without
 * the limit that its creator believes it has.
 */
import type { ErrorDetail } from "../../../shared/errors.ts";
import { type CreateTenant, storedTenant } from "../../../shared/schema/tenant.ts";

type Elsewhere = Exclude<keyof typeof storedTenant, keyof CreateTenant | "id" | "created_at" | "updated_at">;

/** The route below the tenant's own path that sets a field. */
const ROUTES = {
  status: "PATCH status",
  active_from: "PATCH schedule",
  active_until: "PATCH schedule",
  weekly_windows: "PATCH schedule",
  budget_tokens: "PATCH budget",
  budget_cost_usd: "PATCH budget",
  budget_period: "PATCH budget",
  budget_started_at: "PATCH budget",
  allowed_models: "PATCH allowlist",
  guardrails_policy: "PATCH guardrails",
  compression_policy: "PATCH compression",
  tracing_enabled: "PUT tracing",
} as const satisfies Record<Elsewhere, string>;

/** What is wrong with a body that gives such a field another value than the one that a new tenant has anyway. */
export function fieldsOfOtherRoutes(body: unknown): readonly ErrorDetail[] {
  const given = typeof body === "object" && body !== null ? (body as Readonly<Record<string, unknown>>) : {};
  return Object.entries(ROUTES)
    .filter(([field]) => !isDefault(field as Elsewhere, given[field]))
    .map(([path, route]) => {
      const [method = "", at = ""] = route.split(" ");
      return { path, message: `is not taken here: create the tenant, then ${method} /api/v1/tenants/{id}/${at}` };
    });
}

function isDefault(field: Elsewhere, value: unknown): boolean {
  const isNothing = value === undefined || value === null || (Array.isArray(value) && value.length === 0);
  return isNothing || value === storedTenant[field].parse(undefined);
}
