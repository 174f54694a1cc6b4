/**
 * The fields of a model (docs/rules/models.md#fields). Prices are in USD per token, image, character or second of audio.
 */
import * as z from "zod";
import { API_DIALECTS, AUTH_SCHEMES, RESPONSES_APIS } from "../network/upstream-access.ts";
import { ID_FIELD, shownTime, TIME_FIELDS } from "./common-fields.ts";
import type { FieldTable } from "./field-table.ts";

export const MODEL_TYPES = ["chat", "embedding", "audio_transcription", "audio_speech", "image"] as const;
export const CAPACITY_MODES = ["static", "tuned", "adaptive"] as const;
/** Why the capacity of a model in the mode `adaptive` changed (docs/rules/adaptive-capacity.md#reasons). */
export const CAPACITY_REASONS = ["start", "bounds", "throughput", "delay", "first_token", "refused", "probe"] as const;
export type CapacityReason = (typeof CAPACITY_REASONS)[number];

/** Between which the capacity of a model moves. */
export interface CapacityBounds {
  readonly min: number;
  readonly max: number;
}

/** Null: the capacity of the model is fixed. */
export function adaptiveBounds(model: {
  readonly capacity_mode: string;
  readonly adaptive_min: number;
  readonly adaptive_max: number;
}): CapacityBounds | null {
  return model.capacity_mode === "adaptive" ? { min: model.adaptive_min, max: model.adaptive_max } : null;
}

export const SELECTION_MODES = ["failover", "load_balance", "session_hash"] as const;
/** The failures after which a request moves to another model (docs/rules/models.md#fallback-models). */
export const FALLBACK_REASONS = ["failure", "context_length"] as const;
/** Most models that are tried in place of one. */
export const FALLBACK_MODELS_MAX = 8;

const amount = z.number();
const count = z.number().int();

/** Columns that the hot copy contains as one object each. */
const prices = {
  prices: z.object({
    input: amount,
    output: amount,
    image: amount,
    character: amount,
    audio_second: amount,
    /** Null: the price of every other token in. */
    cached_input: amount.nullable().default(null),
    /** Null: the price of every other token out. */
    reasoning_output: amount.nullable().default(null),
    cache_write: amount.nullable().default(null),
    audio_input: amount.nullable().default(null),
    audio_output: amount.nullable().default(null),
    image_input: amount.nullable().default(null),
    image_output: amount.nullable().default(null),
    input_second: amount.default(0),
  }),
};
const supports = {
  supports: z.object({
    function_calling: z.boolean(),
    system_messages: z.boolean(),
    response_schema: z.boolean(),
    tool_choice: z.boolean(),
    vision: z.boolean(),
  }),
};

/**
 * How a model is checked. A record shows these fields after the results of the checks, which are not columns of the model.
 */
const health = {
  health_status: z.string(),
  maintenance_until: shownTime
    .nullable()
    .meta({ description: "Same as health.maintenance_until, which users cannot read" }),
  health: z.object({
    checks_enabled: z.boolean(),
    alerts_enabled: z.boolean(),
    check_interval_secs: count,
    failure_threshold: count,
    maintenance_until: shownTime.nullable(),
    maintenance_note: z.string().nullable(),
  }),
};

export const MODEL_FIELDS = {
  id: { ...ID_FIELD, hot: true },
  model_name: { column: "text", unique: true, value: z.string(), hot: true },
  description: { column: "text", value: z.string() },
  model_type: { column: "text", value: z.enum(MODEL_TYPES), hot: true },
  upstream_model: { column: "text", value: z.string(), hot: true },
  api_base: { column: "text", value: z.string(), hot: true },
  /** In its stored form: ciphertext when an encryption key is set. */
  api_key: { column: "text", value: z.string().nullable(), record: { api_key_set: z.boolean() }, hot: true },
  api_dialect: {
    column: "text",
    value: z.enum(API_DIALECTS),
    hot: { api_dialect: z.enum(API_DIALECTS).default("openai") },
  },
  responses_api: {
    column: "text",
    value: z.enum(RESPONSES_APIS),
    hot: { responses_api: z.enum(RESPONSES_APIS).default("native") },
  },
  auth_scheme: {
    column: "text",
    value: z.enum(AUTH_SCHEMES),
    hot: { auth_scheme: z.enum(AUTH_SCHEMES).default("bearer") },
  },
  enabled: { column: "boolean", value: z.boolean(), hot: true },
  input_cost_per_token: { column: "double", value: amount, hot: prices },
  output_cost_per_token: { column: "double", value: amount, hot: prices },
  cached_input_cost_per_token: { column: "double", value: amount.nullable(), hot: prices },
  reasoning_output_cost_per_token: { column: "double", value: amount.nullable(), hot: prices },
  cache_write_cost_per_token: { column: "double", value: amount.nullable(), hot: prices },
  audio_input_cost_per_token: { column: "double", value: amount.nullable(), hot: prices },
  audio_output_cost_per_token: { column: "double", value: amount.nullable(), hot: prices },
  image_input_cost_per_token: { column: "double", value: amount.nullable(), hot: prices },
  image_output_cost_per_token: { column: "double", value: amount.nullable(), hot: prices },
  cost_per_image: { column: "double", value: amount, hot: prices },
  cost_per_character: { column: "double", value: amount, hot: prices },
  cost_per_audio_second: { column: "double", value: amount, hot: prices },
  input_cost_per_second: { column: "double", value: amount, hot: prices },
  batch_price_factor: {
    column: "double",
    value: amount,
    hot: { batch_price_factor: amount.default(1) },
  },
  context_window: { column: "bigint", value: count, hot: true },
  admission_weight: { column: "integer", value: count, hot: true },
  supports_function_calling: { column: "boolean", value: z.boolean(), hot: supports },
  supports_system_messages: { column: "boolean", value: z.boolean(), hot: supports },
  supports_response_schema: { column: "boolean", value: z.boolean(), hot: supports },
  supports_tool_choice: { column: "boolean", value: z.boolean(), hot: supports },
  supports_vision: { column: "boolean", value: z.boolean(), hot: supports },
  hidden_reasoning: {
    column: "boolean",
    value: z.boolean(),
    hot: { hidden_reasoning: z.boolean().default(false) },
  },
  tags: { column: "texts", value: z.array(z.string()), hot: true },
  boons: { column: "texts", value: z.array(z.string()), hot: true },
  tool_servers: { column: "texts", value: z.array(z.string()), hot: true },
  energy_slots_per_node: { column: "bigint", value: count, hot: true },
  max_in_flight: { column: "bigint", value: count.nullable(), hot: true },
  capacity_mode: {
    column: "text",
    value: z.enum(CAPACITY_MODES),
    hot: { capacity_mode: z.enum(CAPACITY_MODES).default("static") },
  },
  adaptive_min: { column: "integer", value: count, hot: { adaptive_min: count.default(1) } },
  adaptive_max: { column: "integer", value: count, hot: { adaptive_max: count.default(256) } },
  capacity_tuned_at: { column: "instant", value: shownTime.nullable() },
  cache_enabled: { column: "boolean", value: z.boolean(), hot: true },
  cache_ttl_secs: { column: "integer", value: count, hot: true },
  request_timeout_secs: { column: "integer", value: count.nullable(), hot: true },
  first_token_timeout_secs: {
    column: "integer",
    value: count.nullable(),
    hot: { first_token_timeout_secs: count.nullable().default(null) },
  },
  idle_timeout_secs: {
    column: "integer",
    value: count.nullable(),
    hot: { idle_timeout_secs: count.nullable().default(null) },
  },
  stream_keepalive_secs: { column: "integer", value: count, hot: { stream_keepalive_secs: count.default(25) } },
  max_retries: { column: "integer", value: count, hot: true },
  retry_backoff_ms: { column: "integer", value: count, hot: true },
  endpoint_selection_mode: { column: "text", value: z.enum(SELECTION_MODES), hot: true },
  debug_diagnostics: { column: "boolean", value: z.boolean(), hot: true },
  fallback_models: {
    column: "texts",
    value: z.array(z.string()),
    hot: { fallback_models: z.array(z.string()).default([]) },
  },
  fallback_on: {
    column: "texts",
    value: z.array(z.enum(FALLBACK_REASONS)),
    hot: { fallback_on: z.array(z.string()).default([]) },
  },
  health_checks_enabled: { column: "boolean", value: z.boolean(), record: health, hot: { health_status: z.string() } },
  health_alerts_enabled: { column: "boolean", value: z.boolean(), record: health },
  health_check_interval_secs: { column: "bigint", value: count, record: health },
  health_failure_threshold: { column: "bigint", value: count, record: health },
  health_maintenance_until: {
    column: "instant",
    value: shownTime.nullable(),
    record: health,
    hot: { maintenance_until_ms: count.nullable() },
  },
  health_maintenance_note: { column: "text", value: z.string().nullable(), record: health },
  created_at: { ...TIME_FIELDS.created_at, hot: { created_at_ms: count } },
  updated_at: TIME_FIELDS.updated_at,
} as const satisfies FieldTable;

/**
 * The fields of a model that a tenant's people see, in the order of a CSV file: how to call it and what it costs, not where it
 * runs.
 */
export const MODEL_FIELDS_OF_USERS = [
  "id",
  "model_name",
  "description",
  "model_type",
  "enabled",
  "context_window",
  "input_cost_per_token",
  "output_cost_per_token",
  "cached_input_cost_per_token",
  "reasoning_output_cost_per_token",
  "cache_write_cost_per_token",
  "audio_input_cost_per_token",
  "audio_output_cost_per_token",
  "image_input_cost_per_token",
  "image_output_cost_per_token",
  "input_cost_per_second",
  "batch_price_factor",
  "cost_per_image",
  "cost_per_character",
  "cost_per_audio_second",
  "supports_function_calling",
  "supports_system_messages",
  "supports_response_schema",
  "supports_tool_choice",
  "supports_vision",
  "tags",
  "health_status",
  "maintenance_until",
] as const satisfies readonly (keyof typeof MODEL_FIELDS | keyof typeof health)[];
