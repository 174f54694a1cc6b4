/**
 * Tenants on the Management API: record and bodies (specification "Tenant", decisions §3).
 */
import * as z from "zod";
import { compressionPolicySchema, guardrailsPolicySchema } from "../records.ts";
import {
  BUDGET_PERIODS,
  budgetFields,
  descriptionField,
  flag,
  freeText,
  knownName,
  nameField,
  oneOfLowered,
  timestamp,
  timezone,
  warningsField,
  whenValid,
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
    warnings: warningsField,
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
    fairshare_group: knownName.default("default"),
    synthetic: flag.default(false),
  })
  .meta({ id: "CreateTenant" });

/** PUT /tenants/{id}: what is omitted keeps its value. */
export const updateTenantSchema = z
  .object({
    name: nameField,
    description: descriptionField,
    organization: freeText(200),
    contact: freeText(320),
    timezone,
  })
  .partial()
  .meta({ id: "UpdateTenant" });

export type CreateTenant = z.infer<typeof createTenantSchema>;

/** PATCH /tenants/{id}/status */
export const tenantStatusSchema = z.object({ status: oneOfLowered(TENANT_STATUSES) }).meta({ id: "TenantStatus" });

/** PATCH /tenants/{id}/weight */
export const tenantWeightSchema = z.object({ weight }).meta({ id: "TenantWeight" });

/** PUT /tenants/{id}/quota */
export const tenantQuotaSchema = z
  .object({ tokens_per_minute: whole(0), max_in_flight: maxInFlight.default(null) })
  .meta({ id: "TenantQuota" });

/** PATCH /tenants/{id}/group */
export const tenantGroupSchema = z.object({ fairshare_group: knownName }).meta({ id: "TenantGroup" });

/** PATCH /tenants/{id}/budget: replaces; omitted caps are null. */
export const tenantBudgetSchema = z.object(budgetFields).meta({ id: "TenantBudget" });

const WINDOWS_MAX = 100;

/** One recurring window of a week (specification "Tenant"). */
export const weeklyWindow = z
  .object({ day: whole(0, 6), start_min: whole(0, 1439), end_min: whole(1, 1440) })
  .refine((window) => window.start_min < window.end_min, {
    path: ["end_min"],
    message: "must be greater than start_min; a window that passes midnight is two windows",
    when: whenValid("start_min", "end_min"),
  });

/** PATCH /tenants/{id}/schedule: replaces the three fields of the schedule; an omitted time zone is kept. */
export const tenantScheduleSchema = z
  .object({
    timezone: timezone.optional(),
    active_from: timestamp.nullable().default(null),
    active_until: timestamp.nullable().default(null),
    weekly_windows: z
      .array(weeklyWindow, { error: "must be an array of {day, start_min, end_min}" })
      .max(WINDOWS_MAX, `must have at most ${WINDOWS_MAX} windows`)
      .default([]),
  })
  .refine((body) => body.active_from === null || body.active_until === null || body.active_from < body.active_until, {
    path: ["active_until"],
    message: "must be after active_from",
    when: whenValid("active_from", "active_until"),
  })
  .meta({ id: "TenantSchedule" });

/** PATCH /tenants/{id}/allowlist: null and an empty list permit every model; names need not exist. */
export const tenantAllowlistSchema = z
  .object({
    allowed_models: z
      .array(freeText(200), { error: "must be null or an array of model names" })
      .nullable()
      .transform((names) => {
        const kept = [...new Set(names ?? [])].filter((name) => name !== "");
        return kept.length === 0 ? null : kept;
      }),
  })
  .meta({ id: "TenantAllowlist" });
