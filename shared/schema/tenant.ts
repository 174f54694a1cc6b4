/**
 * Tenants on the Management API: record and bodies (docs/rules/tenants.md#fields).
 */
import * as z from "zod";
import { movedAfter, recordShape, type StoredShape } from "../fields/field-table.ts";
import { RATE_PICK } from "../fields/rates.ts";
import { TENANT_FIELDS, TENANT_STATUSES } from "../fields/tenant-fields.ts";
import {
  budgetFields,
  descriptionField,
  flag,
  freeText,
  knownName,
  modelNames,
  nameField,
  oneOf,
  oneOfLowered,
  queryText,
  rateFields,
  storedBudget,
  storedId,
  storedRates,
  storedTimes,
  timestamp,
  timezone,
  warningsField,
  whenValid,
  whole,
} from "./common.ts";
import { compressionPolicyBody, guardrailsPolicyBody } from "./tenant-policy.ts";

export const tenantSchema = z
  .object({ ...movedAfter(recordShape(TENANT_FIELDS), "status", "fairshare_group"), warnings: warningsField })
  .meta({ id: "Tenant" });

export type Tenant = z.infer<typeof tenantSchema>;

const WINDOWS_MAX = 100;

/** One recurring window of a week (docs/rules/tenants.md#access-windows). */
const weeklyWindow = z
  .object({ day: whole(0, 6), start_min: whole(0, 1439), end_min: whole(1, 1440) })
  .refine((window) => window.start_min < window.end_min, {
    path: ["end_min"],
    message: "must be greater than start_min; a window that passes midnight is two windows",
    when: whenValid("start_min", "end_min"),
  });

/** The schema of each stored field, and its default where the body of a creation or an older backup lacks it. */
export const storedTenant = {
  id: storedId,
  name: knownName,
  description: descriptionField.default(""),
  organization: freeText(200).default(""),
  contact: freeText(320).default(""),
  status: oneOf(TENANT_STATUSES).default("active"),
  timezone: timezone.default("UTC"),
  fairshare_group: knownName.default("default"),
  weight: whole(1, 1_000_000).default(100),
  ...storedRates,
  max_in_flight: whole(1).nullable().default(null),
  active_from: timestamp.nullable().default(null),
  active_until: timestamp.nullable().default(null),
  weekly_windows: z.array(weeklyWindow).max(WINDOWS_MAX, `must have at most ${WINDOWS_MAX} windows`).default([]),
  ...storedBudget,
  allowed_models: z.array(freeText(200)).nullable().default(null),
  guardrails_policy: guardrailsPolicyBody.nullable().default(null),
  compression_policy: compressionPolicyBody.nullable().default(null),
  tracing_enabled: flag.default(false),
  synthetic: flag.default(false),
  ...storedTimes,
} satisfies StoredShape<typeof TENANT_FIELDS>;

const stored = z.object(storedTenant);

/** POST /tenants */
export const createTenantSchema = stored
  .pick({
    name: true,
    description: true,
    organization: true,
    contact: true,
    timezone: true,
    weight: true,
    ...RATE_PICK,
    max_in_flight: true,
    fairshare_group: true,
    synthetic: true,
  })
  .extend({ name: nameField })
  .meta({ id: "CreateTenant" });

/** PUT /tenants/{id}: what is omitted keeps its value. */
export const updateTenantSchema = z
  .object({
    name: nameField,
    description: descriptionField,
    organization: storedTenant.organization.unwrap(),
    contact: storedTenant.contact.unwrap(),
    timezone,
  })
  .partial()
  .meta({ id: "UpdateTenant" });

export type CreateTenant = z.infer<typeof createTenantSchema>;

/** Filters of GET /tenants besides paging (docs/rules/management-api.md#searches). */
export const tenantFilterSchema = z.object({
  q: queryText.meta({ description: "A part of name, description or contact, case-insensitive" }).optional(),
  status: oneOf(TENANT_STATUSES).optional(),
  group: queryText.meta({ description: "Name of its fairshare group" }).optional(),
});

/** PATCH /tenants/{id}/status */
export const tenantStatusSchema = z.object({ status: oneOfLowered(TENANT_STATUSES) }).meta({ id: "TenantStatus" });

/** PATCH /tenants/{id}/weight */
export const tenantWeightSchema = z.object({ weight: storedTenant.weight.unwrap() }).meta({ id: "TenantWeight" });

/** PUT /tenants/{id}/quota: an omitted cap of requests in flight is none; an omitted limit per minute keeps its value. */
export const tenantQuotaSchema = z
  .object({ ...rateFields, tokens_per_minute: whole(0), max_in_flight: storedTenant.max_in_flight })
  .meta({ id: "TenantQuota" });

/** PATCH /tenants/{id}/group */
export const tenantGroupSchema = z.object({ fairshare_group: knownName }).meta({ id: "TenantGroup" });

/** PATCH /tenants/{id}/budget: replaces the budget; omitted caps and an omitted period become null. */
export const tenantBudgetSchema = z
  .object({
    ...budgetFields,
    budget_tokens: budgetFields.budget_tokens.unwrap().default(null),
    budget_cost_usd: budgetFields.budget_cost_usd.unwrap().default(null),
    budget_period: budgetFields.budget_period.unwrap().default(null),
  })
  .meta({ id: "TenantBudget" });

/** PATCH /tenants/{id}/schedule: replaces the three fields of the schedule; an omitted time zone keeps its value. */
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

/** PATCH /tenants/{id}/allowlist: null and an empty list allow every model; the names need not exist. */
export const tenantAllowlistSchema = z
  .object({
    allowed_models: modelNames,
  })
  .meta({ id: "TenantAllowlist" });
