/**
 * API keys on the Management API: record and bodies (docs/rules/keys.md#fields). Only the answer to the creation contains
 * the secret.
 */
import * as z from "zod";
import { recordShape, type StoredShape } from "../fields/field-table.ts";
import { KEY_FIELDS } from "../fields/key-fields.ts";
import {
  budgetFields,
  descriptionField,
  flag,
  freeText,
  oneOf,
  optionalName,
  queryText,
  storedBudget,
  storedId,
  storedTimes,
  uuidQuery,
} from "./common.ts";

export const apiKeySchema = z.object(recordShape(KEY_FIELDS)).meta({ id: "ApiKey" });

/** A row of GET /keys. */
export const listedKeySchema = apiKeySchema.extend({ tenant_name: z.string() }).meta({ id: "ListedApiKey" });
export type ListedKey = z.infer<typeof listedKeySchema>;

/** Filters of GET /keys besides paging (docs/rules/keys.md#lists). */
export const allKeysFilterSchema = z.object({
  tenant_id: uuidQuery.optional(),
  disabled: oneOf(["true", "false"]).optional(),
  q: queryText.meta({ description: "Substring of name or key_prefix, in any case" }).optional(),
});

export type ApiKey = z.infer<typeof apiKeySchema>;

/** The schema of each stored field, and its default where an older backup lacks it. */
export const storedKey = {
  id: storedId,
  tenant_id: storedId,
  name: freeText(200).default(""),
  description: descriptionField.default(""),
  key_prefix: freeText(18),
  key_hash: z.string({ error: "must be a text" }).regex(/^[\x21-\x7e]{1,200}$/, "must be the hash of a key"),
  disabled: flag.default(false),
  tracing_enabled: flag.default(false),
  ...storedBudget,
  ...storedTimes,
} satisfies StoredShape<typeof KEY_FIELDS>;

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
