/**
 * Models on the Management API: record and bodies (docs/rules/models.md#fields). `api_key` can only be written; a record
 * shows whether one is set.
 */
import * as z from "zod";
import { recordShape, type StoredShape } from "../fields/field-table.ts";
import {
  CAPACITY_MODES,
  FALLBACK_MODELS_MAX,
  FALLBACK_REASONS,
  MODEL_FIELDS,
  MODEL_TYPES,
  SELECTION_MODES,
} from "../fields/model-fields.ts";
import { API_DIALECTS, AUTH_SCHEMES, RESPONSES_APIS } from "../network/upstream-access.ts";
import {
  amount,
  descriptionField,
  flag,
  freeText,
  nameField,
  oneOf,
  orNull,
  queryText,
  requiredText,
  revField,
  storedId,
  storedSecret,
  storedTimes,
  timestamp,
  warningsField,
  whenValid,
  whole,
} from "./common.ts";
import { baseUrl, headerSecret, storedBaseUrl } from "./upstream.ts";

export const BOONS = ["vision", "structured_output", "compression"] as const;

/** Filters of GET /models in addition to paging (docs/rules/management-api.md#searches). */
export const modelFilterSchema = z.object({
  q: queryText.meta({ description: "Part of model_name or upstream_model, case-insensitive" }).optional(),
});

/** The shortest interval between health checks of a model. A smaller number is raised to it. */
export const MIN_CHECK_INTERVAL_SECS = 60;

const atLeast = (floor: number) => whole(0).transform((value) => Math.max(value, floor));

const CACHE_TTL_SECS = { min: 1, max: 2_592_000 } as const;
const DATABASE_INTEGER_MAX = 2_147_483_647;
export const CACHE_TTL_COMPLAINT = `must be a whole number from ${CACHE_TTL_SECS.min} to ${CACHE_TTL_SECS.max} while cache_enabled is true`;

/** False when stored answers would live for no time or for too long. When the cache is off, the time does not matter. */
export function isCacheTtlRight(cache: {
  readonly cache_enabled?: boolean | null | undefined;
  readonly cache_ttl_secs?: number | null | undefined;
}): boolean {
  const { cache_enabled: enabled } = cache;
  const secs = cache.cache_ttl_secs ?? CACHE_TTL_SECS.min;
  return !enabled || (secs >= CACHE_TTL_SECS.min && secs <= CACHE_TTL_SECS.max);
}

/** The rule for a body that has both fields. */
export const cacheTtlRule = {
  path: ["cache_ttl_secs"],
  message: CACHE_TTL_COMPLAINT,
  when: whenValid("cache_enabled", "cache_ttl_secs"),
};

const ADAPTIVE_MAX = 10_000;
export const ADAPTIVE_BOUNDS_COMPLAINT = "must not be below adaptive_min";

/** False when no capacity is within the bounds. */
export function areBoundsRight(bounds: {
  readonly adaptive_min?: number | null | undefined;
  readonly adaptive_max?: number | null | undefined;
}): boolean {
  return (bounds.adaptive_min ?? 1) <= (bounds.adaptive_max ?? ADAPTIVE_MAX);
}

/** The rule for a body that has both bounds. */
const adaptiveBoundsRule = {
  path: ["adaptive_max"],
  message: ADAPTIVE_BOUNDS_COMPLAINT,
  when: whenValid("adaptive_min", "adaptive_max"),
};

/** The fields of a model that say how its health is checked (docs/rules/models.md#fields). */
export const healthFields = {
  checks_enabled: flag,
  alerts_enabled: flag,
  check_interval_secs: atLeast(MIN_CHECK_INTERVAL_SECS),
  failure_threshold: atLeast(1),
  maintenance_until: timestamp.nullable(),
  maintenance_note: freeText(2000).nullable(),
};

/** A list of names: trimmed, lower-cased if `lowered`, without blanks and duplicates. */
const nameList = (lowered: boolean, max: number) =>
  z
    .array(freeText(200), { error: "must be a list of strings" })
    .transform((items) => [
      ...new Set(items.map((item) => (lowered ? item.toLowerCase() : item)).filter((item) => item !== "")),
    ])
    .refine((items) => items.length <= max, `must have at most ${max} entries`);

/** What a model costs. */
function pricesOf(price: typeof amount) {
  const partPrice = price.nullable().meta({ description: "Null: same as other tokens" });
  return {
    input_cost_per_token: price,
    output_cost_per_token: price,
    cached_input_cost_per_token: partPrice,
    reasoning_output_cost_per_token: partPrice,
    cache_write_cost_per_token: partPrice,
    audio_input_cost_per_token: partPrice,
    audio_output_cost_per_token: partPrice,
    image_input_cost_per_token: partPrice,
    image_output_cost_per_token: partPrice,
    cost_per_image: price,
    cost_per_character: price,
    cost_per_audio_second: price.meta({ description: "Stored but not used: audio is billed by input_cost_per_second" }),
    input_cost_per_second: price.meta({ description: "Price per second of transcribed or translated audio" }),
  };
}

/** Above every real price, and so low that the cost of a request stays below the highest one that can be counted. */
const PRICE_MAX_USD = 100;
export const priceFields = pricesOf(amount.max(PRICE_MAX_USD, `must be a number from 0 to ${PRICE_MAX_USD}`));

/** Every field of a model that a body may set, without its names, address and credential. */
const modelFields = {
  description: descriptionField,
  model_type: oneOf(MODEL_TYPES),
  api_dialect: oneOf(API_DIALECTS).meta({ description: "API of the upstreams; calls in the other one are translated" }),
  responses_api: oneOf(RESPONSES_APIS).meta({
    description: "The upstreams have the Responses API, or its calls are translated to chat completions",
  }),
  auth_scheme: oneOf(AUTH_SCHEMES).meta({
    description: "How api_key is sent: bearer token, header of this name, or not",
  }),
  enabled: flag,
  ...priceFields,
  batch_price_factor: z
    .number({ error: "must be a number from 0 to 1" })
    .min(0, "must be a number from 0 to 1")
    .max(1, "must be a number from 0 to 1")
    .meta({ description: "Lines of batches cost this part of the prices" }),
  context_window: whole(0),
  admission_weight: whole(1, 10_000),
  supports_function_calling: flag,
  supports_system_messages: flag,
  supports_response_schema: flag,
  supports_tool_choice: flag,
  supports_vision: flag,
  hidden_reasoning: flag.meta({ description: "Its streams do not show its reasoning" }),
  tags: nameList(true, 32),
  boons: z.array(oneOf(BOONS), { error: "must be a list of boons" }).transform((items) => [...new Set(items)]),
  tool_servers: nameList(false, 100),
  energy_slots_per_node: whole(0),
  max_in_flight: whole(1).nullable(),
  capacity_mode: oneOf(CAPACITY_MODES),
  adaptive_min: whole(1, ADAPTIVE_MAX).meta({ description: "Smallest capacity in the mode adaptive" }),
  adaptive_max: whole(1, ADAPTIVE_MAX).meta({ description: "Largest capacity in the mode adaptive" }),
  cache_enabled: flag,
  cache_ttl_secs: whole(0, DATABASE_INTEGER_MAX).meta({
    description: `${CACHE_TTL_SECS.min} to ${CACHE_TTL_SECS.max} while cache_enabled is true`,
  }),
  request_timeout_secs: whole(1, 86_400).nullable(),
  first_token_timeout_secs: whole(1, 86_400).nullable().meta({ description: "Until the first event of a stream" }),
  idle_timeout_secs: whole(1, 86_400).nullable().meta({ description: "Between two pieces of a response" }),
  stream_keepalive_secs: whole(0, 3600).meta({ description: "Until a silent stream gets a comment. 0: none" }),
  max_retries: whole(0, 10),
  retry_backoff_ms: whole(0, 60_000),
  endpoint_selection_mode: oneOf(SELECTION_MODES),
  debug_diagnostics: flag,
  fallback_models: nameList(false, FALLBACK_MODELS_MAX)
    .refine((names) => !names.includes("auto"), "auto is reserved")
    .meta({ description: "Models to try, in order, when this one cannot serve a request" }),
  fallback_on: z
    .array(oneOf(FALLBACK_REASONS), { error: "must be a list of reasons" })
    .transform((items) => [...new Set(items)])
    .meta({ description: "When fallback_models are tried. Empty: never" }),
};

export const modelSchema = z
  .object({ ...recordShape(MODEL_FIELDS), rev: revField, warnings: warningsField })
  .meta({ id: "Model" });

export type Model = z.infer<typeof modelSchema>;

/** The schemas of the stored fields that a body may set or that follow from one; an older backup may lack each of them. */
const storedSettings = {
  ...modelFields,
  // an earlier version accepted every price
  ...pricesOf(amount),
  capacity_tuned_at: timestamp.nullable(),
  health_checks_enabled: flag,
  health_alerts_enabled: flag,
  health_check_interval_secs: whole(60),
  health_failure_threshold: whole(1),
  health_maintenance_until: timestamp.nullable(),
  health_maintenance_note: freeText(2000).nullable(),
};

const modelName = nameField.refine((name) => name !== "auto", "auto is reserved");

/** The schemas of the other stored fields. */
const storedIdentity = {
  id: storedId,
  model_name: modelName,
  upstream_model: requiredText(300),
  api_base: storedBaseUrl.default(""),
  api_key: storedSecret,
  ...storedTimes,
};

/** The schema of each stored field. What an older backup lacks gets the default of the column. */
export const storedModel = { ...z.object(storedSettings).partial().shape, ...storedIdentity } satisfies StoredShape<
  typeof MODEL_FIELDS
>;

const apiKey = headerSecret.nullable();
const health = z.object(healthFields).partial();

/** POST /models; the verb checks api_base against the address policy. */
export const createModelSchema = z
  .object({
    ...modelFields,
    model_name: modelName,
    upstream_model: requiredText(300),
    api_base: baseUrl.default(""),
    api_key: apiKey,
    health,
  })
  .partial()
  .required({ model_name: true })
  .refine(isCacheTtlRight, cacheTtlRule)
  .refine(areBoundsRight, adaptiveBoundsRule)
  .meta({ id: "CreateModel" });

/** PUT /models/{id}: `upstream_model` and `api_base` are required; every other field keeps its value when it is omitted. */
export const updateModelSchema = z
  .object({ ...modelFields, model_name: modelName, api_key: apiKey, health })
  .partial()
  .extend({ upstream_model: requiredText(300), api_base: baseUrl })
  .refine(isCacheTtlRight, cacheTtlRule)
  .refine(areBoundsRight, adaptiveBoundsRule)
  .meta({ id: "UpdateModel" });

/** PATCH /models/{id}: null means the default, and clears the credential. */
export const patchModelSchema = z
  .object({
    ...orNull(modelFields),
    model_name: modelName,
    upstream_model: requiredText(300).nullable(),
    api_base: baseUrl.nullable(),
    api_key: apiKey,
    health: z.object(orNull(healthFields)).partial().nullable(),
  })
  .partial()
  .refine(isCacheTtlRight, cacheTtlRule)
  .refine(areBoundsRight, adaptiveBoundsRule)
  .meta({ id: "PatchModel" });

export type PatchModel = z.infer<typeof patchModelSchema>;

/** PUT /models/{id}/capacity: null clears the capacity, so the field itself is required. */
export const modelCapacitySchema = z.object({ max_in_flight: modelFields.max_in_flight }).meta({ id: "ModelCapacity" });

/** PUT /models/{id}/capacity-mode */
export const modelCapacityModeSchema = z
  .object({
    capacity_mode: modelFields.capacity_mode,
    adaptive_min: modelFields.adaptive_min.optional(),
    adaptive_max: modelFields.adaptive_max.optional(),
  })
  .refine(areBoundsRight, adaptiveBoundsRule)
  .meta({ id: "SetModelCapacityMode" });

/** POST /models/{id}/autotune/apply */
export const applyAutotuneSchema = z
  .object({
    max_in_flight: whole(1),
    capacity_mode: z
      .enum(["tuned", "adaptive"])
      .default("tuned")
      .meta({ description: "adaptive: the capacity starts there and then moves" }),
  })
  .meta({ id: "ApplyAutotune" });

/** PUT /models/{id}/weight */
export const modelWeightSchema = z
  .object({ admission_weight: modelFields.admission_weight })
  .meta({ id: "ModelWeight" });

/** PUT /models/{id}/cache */
export const modelCacheSchema = z
  .object({ cache_enabled: flag, cache_ttl_secs: modelFields.cache_ttl_secs.default(300) })
  .refine(isCacheTtlRight, cacheTtlRule)
  .meta({ id: "ModelCache" });

/** PUT /models/{id}/reliability: replaces all fields; an omitted one gets its default. */
export const modelReliabilitySchema = z
  .object({
    request_timeout_secs: modelFields.request_timeout_secs.default(null),
    first_token_timeout_secs: modelFields.first_token_timeout_secs.default(null),
    idle_timeout_secs: modelFields.idle_timeout_secs.default(null),
    stream_keepalive_secs: modelFields.stream_keepalive_secs.default(25),
    max_retries: modelFields.max_retries.default(0),
    retry_backoff_ms: modelFields.retry_backoff_ms.default(200),
    endpoint_selection_mode: modelFields.endpoint_selection_mode.default("failover"),
    debug_diagnostics: modelFields.debug_diagnostics.default(false),
  })
  .meta({ id: "ModelReliability" });

export type CreateModel = z.infer<typeof createModelSchema>;

/** POST /models/validate */
export const validateModelSchema = z
  .object({
    api_base: baseUrl.refine((text) => text !== "", "must not be blank"),
    upstream_model: requiredText(300),
    api_key: apiKey.optional(),
    model_type: modelFields.model_type.optional(),
    api_dialect: modelFields.api_dialect.default("openai"),
    auth_scheme: modelFields.auth_scheme.default("bearer"),
  })
  .meta({ id: "ValidateModel" });

export const modelValidationSchema = z
  .object({
    reachable: z.boolean().meta({ description: "GET {api_base}/models was answered, with any status" }),
    listed: z.boolean().nullable().meta({ description: "The catalog lists the model. Null: unknown" }),
    wildcard: z.boolean().meta({ description: "The catalog has a wildcard entry that matches any model" }),
    warnings: z.array(z.string()),
  })
  .meta({ id: "ModelValidation" });
export type ModelValidation = z.infer<typeof modelValidationSchema>;
