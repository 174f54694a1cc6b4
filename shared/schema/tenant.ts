/**
 * Tenants on the Management API: record and bodies (specification "Tenant", decisions §3).
 */
import { z } from "zod";
import { compressionPolicySchema, guardrailsPolicySchema } from "../records.ts";
import {
  BUDGET_PERIODS,
  budgetFields,
  descriptionField,
  flag,
  freeText,
  nameField,
  oneOfLowered,
  timezone,
  whole,
} from "./common.ts";

export const TENANT_STATUSES = ["active", "suspended", "archived"] as const;

export const tenantSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    description: z.string(),
    organization: z.string(),
    contact: z.string(),
    timezone: z.string(),
    weight: z.number().int(),
    tokens_per_minute: z.number().int(),
    max_in_flight: z.number().int().nullable(),
    fairshare_group: z.string(),
    status: z.enum(TENANT_STATUSES),
    active_from: z.string().nullable(),
    active_until: z.string().nullable(),
    weekly_windows: z.array(
      z.object({ day: z.number().int(), start_min: z.number().int(), end_min: z.number().int() }),
    ),
    budget_tokens: z.number().int().nullable(),
    budget_cost_usd: z.number().nullable(),
    budget_period: z.enum(BUDGET_PERIODS).nullable(),
    budget_started_at: z.string().nullable(),
    allowed_models: z.array(z.string()).nullable(),
    guardrails_policy: guardrailsPolicySchema.nullable(),
    compression_policy: compressionPolicySchema.nullable(),
    tracing_enabled: z.boolean(),
    synthetic: z.boolean(),
    created_at: z.string(),
    updated_at: z.string(),
  })
  .meta({ id: "Tenant" });

export type Tenant = z.infer<typeof tenantSchema>;

const weight = whole(1, 1_000_000);
const maxInFlight = whole(1).nullable();

/** POST /tenants */
export const createTenantSchema = z
  .object({
    name: nameField,
    description: descriptionField.default(""),
    organization: freeText(200).default(""),
    contact: freeText(320).default(""),
    timezone: timezone.default("UTC"),
    weight: weight.default(100),
    tokens_per_minute: whole(0).default(0),
    max_in_flight: maxInFlight.default(null),
    fairshare_group: nameField.default("default"),
    synthetic: flag.default(false),
  })
  .meta({ id: "CreateTenant" });

/** PATCH /tenants/{id}/status */
export const tenantStatusSchema = z.object({ status: oneOfLowered(TENANT_STATUSES) }).meta({ id: "TenantStatus" });

/** PATCH /tenants/{id}/weight */
export const tenantWeightSchema = z.object({ weight }).meta({ id: "TenantWeight" });

/** PUT /tenants/{id}/quota */
export const tenantQuotaSchema = z
  .object({ tokens_per_minute: whole(0), max_in_flight: maxInFlight.default(null) })
  .meta({ id: "TenantQuota" });

/** PATCH /tenants/{id}/group */
export const tenantGroupSchema = z.object({ fairshare_group: nameField }).meta({ id: "TenantGroup" });

/** PATCH /tenants/{id}/budget: replaces; omitted caps are null. */
export const tenantBudgetSchema = z.object(budgetFields).meta({ id: "TenantBudget" });
