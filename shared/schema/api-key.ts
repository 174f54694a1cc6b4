/**
 * API keys on the Management API: record and bodies (specification "API key", decisions §4). The secret stands in the
 * answer of the creation and nowhere else.
 */
import * as z from "zod";
import {
  BUDGET_PERIODS,
  budgetFields,
  descriptionField,
  flag,
  oneOf,
  optionalName,
  queryText,
  uuidQuery,
} from "./common.ts";

export const apiKeySchema = z
  .object({
    id: z.string(),
    tenant_id: z.string(),
    name: z.string(),
    description: z.string(),
    key_prefix: z.string(),
    disabled: z.boolean(),
    tracing_enabled: z.boolean(),
    budget_tokens: z.number().int().nullable(),
    budget_cost_usd: z.number().nullable(),
    budget_period: z.enum(BUDGET_PERIODS).nullable(),
    budget_started_at: z.string().nullable(),
    created_at: z.string(),
    updated_at: z.string(),
  })
  .meta({ id: "ApiKey" });

/** A row of GET /keys. */
export const listedKeySchema = apiKeySchema.extend({ tenant_name: z.string() }).meta({ id: "ListedApiKey" });
export type ListedKey = z.infer<typeof listedKeySchema>;

/** Filters of GET /keys besides paging (decisions §4.2). */
export const allKeysFilterSchema = z.object({
  tenant_id: uuidQuery.optional(),
  disabled: oneOf(["true", "false"]).optional(),
  q: queryText.meta({ description: "Substring of name or key_prefix, in any case" }).optional(),
});

export type ApiKey = z.infer<typeof apiKeySchema>;

/** POST /tenants/{id}/keys */
export const createKeySchema = z
  .object({ name: optionalName.default(""), description: descriptionField.default(""), ...budgetFields })
  .meta({ id: "CreateApiKey" });

/** PUT /keys/{id}: what is omitted keeps its value, null clears. */
export const updateKeySchema = z
  .object({ name: optionalName.optional(), description: descriptionField.optional(), ...budgetFields })
  .meta({ id: "UpdateApiKey" });

/** PUT /keys/{id}/disabled */
export const keyDisabledSchema = z.object({ disabled: flag }).meta({ id: "ApiKeyDisabled" });

export const createdKeySchema = z.object({ key: apiKeySchema, secret: z.string() }).meta({ id: "CreatedApiKey" });
export type CreatedKey = z.infer<typeof createdKeySchema>;
