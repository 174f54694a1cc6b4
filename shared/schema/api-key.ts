/**
 * API keys on the Management API: record and bodies (docs/rules/keys.md#fields). Only the answer to the creation contains
 * the secret.
 */
import * as z from "zod";
import { BUDGET_PERIODS } from "../fields/common-fields.ts";
import { recordShape, type StoredShape } from "../fields/field-table.ts";
import { ACTOR_ROLES, KEY_FIELDS } from "../fields/key-fields.ts";
import { byRateField } from "../fields/rates.ts";
import { TENANT_STATUSES } from "../fields/tenant-fields.ts";
import {
  amount,
  budgetFields,
  descriptionField,
  flag,
  freeText,
  modelNames,
  oneOf,
  optionalName,
  patchShape,
  queryText,
  revField,
  storedBudget,
  storedId,
  storedRates,
  storedTimes,
  timestamp,
  uuidQuery,
  whole,
} from "./common.ts";

export const apiKeySchema = z.object({ ...recordShape(KEY_FIELDS), rev: revField }).meta({ id: "ApiKey" });

/** A row of GET /keys. */
export const listedKeySchema = apiKeySchema
  .extend({ tenant_name: z.string(), tenant_status: z.enum(TENANT_STATUSES) })
  .meta({ id: "ListedApiKey" });
export type ListedKey = z.infer<typeof listedKeySchema>;

/** Filters of GET /keys in addition to paging (docs/rules/keys.md#lists). */
export const allKeysFilterSchema = z.object({
  tenant_id: uuidQuery.optional(),
  disabled: oneOf(["true", "false"]).optional(),
  q: queryText.meta({ description: "Part of the name or key_prefix, case-insensitive" }).optional(),
});

export type ApiKey = z.infer<typeof apiKeySchema>;

/** The longest time for which the secret before a rotation is still admitted: a week. */
const GRACE_MAX_SECS = 604_800;

const KEY_HASH = "must be 64 hex digits, for a token's subject with jwt: before them";
const keyHash = z.string({ error: KEY_HASH }).regex(/^(jwt:)?[0-9a-f]{64}$/, KEY_HASH);

const KEY_PEPPER = "must be null or 8 hex digits";
const keyPepper = z
  .string({ error: KEY_PEPPER })
  .regex(/^[0-9a-f]{8}$/, KEY_PEPPER)
  .nullable()
  .default(null);

const KEY_PREFIX = "must be the first 18 characters of a key";
const storedModelNames = z.array(freeText(200), { error: "must be null or an array of model names" });

/** None of them is null: a limit that no admin has set is absent. */
const adminLimits = z
  .object(
    {
      ...byRateField(whole(0)),
      budget_tokens: whole(0),
      budget_cost_usd: amount,
      budget_period: oneOf(BUDGET_PERIODS),
      budget_started_at: timestamp,
      expires_at: timestamp,
      allowed_models: storedModelNames,
    },
    { error: "must be null or an object of limits" },
  )
  .partial();
export type AdminLimits = z.infer<typeof adminLimits>;

/** The schema of each stored field, and its default where an older backup lacks it. */
export const storedKey = {
  id: storedId,
  tenant_id: storedId,
  name: freeText(200).default(""),
  description: descriptionField.default(""),
  key_prefix: z.string({ error: KEY_PREFIX }).regex(/^(sk_[0-9a-f]{15}|jwt:[0-9a-f]{14})$/, KEY_PREFIX),
  key_hash: keyHash,
  key_pepper: keyPepper,
  disabled: flag.default(false),
  disabled_by: oneOf(ACTOR_ROLES).nullable().default(null),
  admin_limits: adminLimits.nullable().default(null),
  tracing_enabled: flag.default(false),
  expires_at: timestamp.nullable().default(null),
  allowed_models: storedModelNames.nullable().default(null),
  previous_key_hash: keyHash.nullable().default(null),
  previous_key_pepper: keyPepper,
  previous_secret_until: timestamp.nullable().default(null),
  ...storedRates,
  ...storedBudget,
  ...storedTimes,
} satisfies StoredShape<typeof KEY_FIELDS>;

/** What a body says of when a key ends and which models it may use; an omitted field stays undefined. */
const limitFields = { expires_at: timestamp.nullable().optional(), allowed_models: modelNames.optional() };

/** The fields of a key that an admin sets, except whether it is disabled or traced; the defaults are those of a new key. */
const details = {
  name: optionalName.default(""),
  description: descriptionField.default(""),
  ...limitFields,
  ...storedRates,
  ...budgetFields,
};
const settable = { ...details, disabled: storedKey.disabled, tracing_enabled: storedKey.tracing_enabled };

/** POST /tenants/{id}/keys */
export const createKeySchema = z.object(settable).meta({ id: "CreateApiKey" });

/** PATCH /keys/{id} */
export const patchKeySchema = z.object(patchShape(settable)).meta({ id: "PatchApiKey" });

/** PUT /keys/{id} */
export const updateKeySchema = z.object(patchShape(details)).meta({ id: "UpdateApiKey" });

/** POST /keys/{id}/rotate (docs/rules/keys.md#rotation). */
export const rotateKeySchema = z
  .object({
    grace_secs: whole(0, GRACE_MAX_SECS).default(0).meta({ description: "How long the old secret stays valid" }),
  })
  .meta({ id: "RotateApiKey" });

/** PUT /keys/{id}/disabled */
export const keyDisabledSchema = z.object({ disabled: flag }).meta({ id: "ApiKeyDisabled" });

export const createdKeySchema = z.object({ key: apiKeySchema, secret: z.string() }).meta({ id: "CreatedApiKey" });
export type CreatedKey = z.infer<typeof createdKeySchema>;
