/** The fields of a tenant by section, and their values. They are changed in one form (edit-tab.tsx). */
import type { Records } from "../../data/api.ts";
import { fieldLabel, valueText } from "../../forms/record/field-words.ts";
import { Facts } from "../../ui/layout.tsx";

export const TENANT_SECTIONS = {
  details: ["name", "description", "organization", "contact", "timezone"],
  limits: [
    "requests_per_minute",
    "tokens_per_minute",
    "max_in_flight",
    "files_bytes",
    "weight",
    "fairshare_group",
    "tracing_enabled",
    "synthetic",
  ],
  budget: [
    "budget_tokens",
    "budget_cost_usd",
    "budget_period",
    "budget_started_at",
    "end_user_budget_tokens",
    "end_user_budget_cost_usd",
    "end_user_budget_period",
  ],
  allowList: ["allowed_models"],
  schedule: ["active_from", "active_until"],
} as const satisfies Readonly<Record<string, readonly (keyof Records["Tenant"])[]>>;

interface TenantFactsProps {
  readonly section: keyof typeof TENANT_SECTIONS;
  readonly tenant: Records["Tenant"];
}

/** What the reader gets to see of a section. */
export function TenantFacts({ section, tenant }: TenantFactsProps) {
  const shown = TENANT_SECTIONS[section].filter((name) => Object.hasOwn(tenant, name));
  return <Facts facts={shown.map((name) => [fieldLabel(name), valueText(name, tenant[name], tenant.timezone)])} />;
}
