/** The fields of a tenant by section, and their values. They are changed in one form (edit-tab.tsx). */

import type { ReactNode } from "react";
import { RATE_FIELD_NAMES } from "../../../shared/fields/rates.ts";
import type { Records } from "../../data/api.ts";
import { useCurrentUser } from "../../data/current-user.ts";
import { tenantTarget } from "../../explain/link-target.ts";
import { factLabel, factText } from "../../forms/record/fact-text.ts";
import { TargetLink } from "../../links/target-link.tsx";
import { Facts } from "../../ui/layout.tsx";

type Tenant = Records["Tenant"];

/** What has no section is a detail. */
export const TENANT_SECTIONS = {
  limits: [
    ...RATE_FIELD_NAMES,
    "max_in_flight",
    "files_bytes",
    "weight",
    "fairshare_group",
    "tracing_enabled",
    "capture_until",
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
} as const satisfies Readonly<Record<string, readonly (keyof Tenant)[]>>;

/** Fields with a place of their own on the page. */
const ELSEWHERE = [
  "id",
  "status",
  "weekly_windows",
  "guardrails_policy",
  "compression_policy",
  "created_at",
  "updated_at",
  "rev",
  "warnings",
];
const WITH_PLACE: ReadonlySet<string> = new Set([...ELSEWHERE, ...Object.values(TENANT_SECTIONS).flat()]);

/** Those of the fields that are details. */
export function detailsOf(fields: readonly string[]): readonly string[] {
  return fields.filter((name) => !WITH_PLACE.has(name));
}

/** Those that the reader gets and that mean something: a monthly budget starts with the month, whatever start is stored. */
export function appliedFields(
  names: readonly string[],
  tenant: Partial<Pick<Tenant, "budget_period">>,
): readonly string[] {
  return names.filter(
    (name) => Object.hasOwn(tenant, name) && !(name === "budget_started_at" && tenant.budget_period === "monthly"),
  );
}

/** To the form, for who may change the tenant. */
export function EditLink({ tenant: { id }, children }: { readonly tenant: Tenant; readonly children: ReactNode }) {
  const { role, isReadOnly } = useCurrentUser();
  if (role !== "admin" || isReadOnly) return null;
  return (
    <TargetLink target={tenantTarget(id, "edit")} isButton>
      {children}
    </TargetLink>
  );
}

interface TenantFactsProps {
  readonly section: keyof typeof TENANT_SECTIONS | "details";
  readonly tenant: Tenant;
}

/** What the reader gets to see of a section. */
export function TenantFacts({ section, tenant }: TenantFactsProps) {
  const values: Readonly<Record<string, unknown>> = tenant;
  const names = section === "details" ? detailsOf(Object.keys(tenant)) : TENANT_SECTIONS[section];
  const shown = appliedFields(names, tenant);
  return <Facts facts={shown.map((name) => [factLabel(name), factText(name, values[name], tenant.timezone)])} />;
}
