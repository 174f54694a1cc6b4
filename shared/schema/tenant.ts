/**
 * Tenants on the Management API: record and bodies (docs/rules/tenants.md#fields).
 */
import * as z from "zod";
import { LIMITS } from "../catalogues/limits.ts";
import { movedAfter, recordShape, type StoredShape } from "../fields/field-table.ts";
import { TENANT_FIELDS, TENANT_STATUSES } from "../fields/tenant-fields.ts";
import {
  budgetFields,
  descriptionField,
  endUserBudgetFields,
  flag,
  freeText,
  knownName,
  modelNames,
  nameField,
  oneOf,
  oneOfLowered,
  patchShape,
  queryText,
  rateFields,
  revField,
  storedBudget,
  storedEndUserBudget,
  storedId,
  storedRates,
  storedTimes,
  timestamp,
  timezone,
  warningsField,
  whenValid,
  whole,
} from "./common.ts";
import {
  compressionPolicyBody,
  compressionPolicyPatch,
  guardrailsPolicyBody,
  guardrailsPolicyPatch,
} from "./tenant-policy.ts";

export const tenantSchema = z
  .object({
    ...movedAfter(recordShape(TENANT_FIELDS), "status", "fairshare_group"),
    rev: revField,
    warnings: warningsField,
  })
  .meta({ id: "Tenant" });

export type Tenant = z.infer<typeof tenantSchema>;

const WINDOWS_MAX = 100;

/** One recurring window of a week (docs/rules/tenants.md#access-windows). */
const weeklyWindow = z
  .object({ day: whole(0, 6), start_min: whole(0, 1439), end_min: whole(1, 1440) })
  .refine((window) => window.start_min < window.end_min, {
    path: ["end_min"],
    message: "must be greater than start_min; split a window that crosses midnight into two",
    when: whenValid("start_min", "end_min"),
  });

/** The schema of each stored field, and its default where the body of a creation or an older backup lacks it. */
export const storedTenant = {
  id: storedId,
  name: nameField,
  description: descriptionField.default(""),
  organization: freeText(200).default(""),
  contact: freeText(320).default(""),
  status: oneOf(TENANT_STATUSES).default("active"),
  timezone: timezone.default("UTC"),
  fairshare_group: knownName.default("default"),
  weight: whole(1, 1_000_000).default(100),
  ...storedRates,
  max_in_flight: whole(1).nullable().default(null),
  files_bytes: whole(0).default(LIMITS.filesOfTenantBytes).meta({
    description: "Most bytes that its files for batches may have together",
  }),
  active_from: timestamp.nullable().default(null),
  active_until: timestamp.nullable().default(null),
  weekly_windows: z
    .array(weeklyWindow, { error: "must be an array of {day, start_min, end_min}" })
    .max(WINDOWS_MAX, `must have at most ${WINDOWS_MAX} windows`)
    .default([]),
  ...storedBudget,
  ...storedEndUserBudget,
  allowed_models: z.array(freeText(200), { error: "must be null or an array of model names" }).nullable().default(null),
  guardrails_policy: guardrailsPolicyBody.nullable().default(null),
  compression_policy: compressionPolicyBody.nullable().default(null),
  tracing_enabled: flag.default(false),
  synthetic: flag.default(false),
  ...storedTimes,
} satisfies StoredShape<typeof TENANT_FIELDS>;

/** The fields of a tenant that an admin sets; the defaults are those of a new tenant. */
const settable = {
  name: storedTenant.name,
  description: storedTenant.description,
  organization: storedTenant.organization,
  contact: storedTenant.contact,
  status: oneOfLowered(TENANT_STATUSES).default("active"),
  timezone: storedTenant.timezone,
  fairshare_group: storedTenant.fairshare_group,
  weight: storedTenant.weight,
  ...storedRates,
  max_in_flight: storedTenant.max_in_flight,
  files_bytes: storedTenant.files_bytes,
  active_from: storedTenant.active_from,
  active_until: storedTenant.active_until,
  weekly_windows: storedTenant.weekly_windows,
  ...budgetFields,
  ...endUserBudgetFields,
  allowed_models: modelNames.optional(),
  guardrails_policy: storedTenant.guardrails_policy,
  compression_policy: storedTenant.compression_policy,
  tracing_enabled: storedTenant.tracing_enabled,
  capture_until: timestamp
    .nullable()
    .default(null)
    .meta({ description: "Until when bodies are captured, at most 24 h ahead; null ends it and deletes the captures" }),
  synthetic: storedTenant.synthetic,
};

export const SCHEDULE_COMPLAINT = "must be after active_from";

/** Access starts before it ends. The verb compares a body that has only one of the two with the stored value. */
const scheduleRule = {
  path: ["active_until"],
  message: SCHEDULE_COMPLAINT,
  when: whenValid("active_from", "active_until"),
};

/** False for a time of access that would end before it starts. */
export function isScheduleRight(body: {
  readonly active_from?: string | Date | null | undefined;
  readonly active_until?: string | Date | null | undefined;
}): boolean {
  const { active_from: from = null, active_until: until = null } = body;
  return from === null || until === null || from < until;
}

/** POST /tenants */
export const createTenantSchema = z.object(settable).refine(isScheduleRight, scheduleRule).meta({ id: "CreateTenant" });

export type CreateTenant = z.infer<typeof createTenantSchema>;

const patches = {
  ...patchShape(settable),
  guardrails_policy: guardrailsPolicyPatch.nullable().optional(),
  compression_policy: compressionPolicyPatch.nullable().optional(),
};

/** PATCH /tenants/{id}: a policy merges, too. */
export const patchTenantSchema = z.object(patches).refine(isScheduleRight, scheduleRule).meta({ id: "PatchTenant" });

export type PatchTenant = z.infer<typeof patchTenantSchema>;

/** PUT /tenants/{id} */
export const updateTenantSchema = z
  .object({
    name: patches.name,
    description: patches.description,
    organization: patches.organization,
    contact: patches.contact,
    timezone: patches.timezone,
  })
  .meta({ id: "UpdateTenant" });

/** Filters of GET /tenants in addition to paging (docs/rules/management-api.md#searches). */
export const tenantFilterSchema = z.object({
  q: queryText.meta({ description: "Part of the name, description or contact, case-insensitive" }).optional(),
  status: oneOf(TENANT_STATUSES).optional(),
  group: queryText.meta({ description: "Name of the fairshare group" }).optional(),
});

/** PATCH /tenants/{id}/status */
export const tenantStatusSchema = z.object({ status: oneOfLowered(TENANT_STATUSES) }).meta({ id: "SetTenantStatus" });

/** PATCH /tenants/{id}/weight */
export const tenantWeightSchema = z.object({ weight: storedTenant.weight.unwrap() }).meta({ id: "TenantWeight" });

/** PUT /tenants/{id}/quota: omitting the cap of requests in flight removes it; an omitted limit per minute keeps its value. */
export const tenantQuotaSchema = z
  .object({ ...rateFields, tokens_per_minute: whole(0), max_in_flight: storedTenant.max_in_flight })
  .meta({ id: "TenantQuota" });

/** PATCH /tenants/{id}/group */
export const tenantGroupSchema = z.object({ fairshare_group: knownName }).meta({ id: "TenantGroup" });

/** PATCH /tenants/{id}/budget */
export const tenantBudgetSchema = z.object({ ...budgetFields, ...endUserBudgetFields }).meta({ id: "TenantBudget" });

/** PATCH /tenants/{id}/schedule */
export const tenantScheduleSchema = z
  .object({
    timezone: patches.timezone,
    active_from: patches.active_from,
    active_until: patches.active_until,
    weekly_windows: patches.weekly_windows,
  })
  .refine(isScheduleRight, scheduleRule)
  .meta({ id: "TenantSchedule" });

/** PATCH /tenants/{id}/allowlist: null and an empty list allow every model; the names need not exist. */
export const tenantAllowlistSchema = z
  .object({
    allowed_models: modelNames,
  })
  .meta({ id: "TenantAllowlist" });
