/**
 * A model body as columns: defaults on creation, kept values on update, the credential sealed
 * (docs/rules/models.md#fields).
 */
import type { CreateModel, PatchModel } from "../../shared/schema/model.ts";
import type { ModelRow, NewModelRow } from "../db/schema/models.ts";
import type { VerbContext } from "../kernel/context.ts";
import { dropUndefined } from "../kernel/parse.ts";
import { sealNewSecret } from "../kernel/seal-secret.ts";
import { healthColumns } from "./model-record.ts";

type Fields = Omit<NewModelRow, "id" | "rev" | "created_at" | "updated_at" | "model_name">;

const DEFAULTS = {
  description: "",
  model_type: "chat",
  api_dialect: "openai",
  responses_api: "native",
  auth_scheme: "bearer",
  enabled: true,
  input_cost_per_token: 0,
  output_cost_per_token: 0,
  cached_input_cost_per_token: null,
  reasoning_output_cost_per_token: null,
  cache_write_cost_per_token: null,
  audio_input_cost_per_token: null,
  audio_output_cost_per_token: null,
  image_input_cost_per_token: null,
  image_output_cost_per_token: null,
  cost_per_image: 0,
  cost_per_character: 0,
  cost_per_audio_second: 0,
  input_cost_per_second: 0,
  context_window: 8192,
  admission_weight: 100,
  supports_function_calling: false,
  supports_system_messages: true,
  supports_response_schema: false,
  supports_tool_choice: false,
  supports_vision: false,
  hidden_reasoning: false,
  batch_price_factor: 1,
  tags: [],
  boons: [],
  tool_servers: [],
  energy_slots_per_node: 0,
  max_in_flight: null,
  capacity_mode: "static",
  adaptive_min: 1,
  adaptive_max: 256,
  capacity_tuned_at: null,
  cache_enabled: false,
  cache_ttl_secs: 300,
  request_timeout_secs: null,
  first_token_timeout_secs: null,
  idle_timeout_secs: null,
  stream_keepalive_secs: 25,
  max_retries: 0,
  retry_backoff_ms: 200,
  endpoint_selection_mode: "failover",
  debug_diagnostics: false,
  fallback_models: [],
  fallback_on: ["failure"],
  health_checks_enabled: true,
  health_alerts_enabled: true,
  health_failure_threshold: 2,
  health_maintenance_until: null,
  health_maintenance_note: null,
} satisfies Omit<Fields, "upstream_model" | "api_base" | "api_key" | "health_check_interval_secs">;

/** Columns of a new model. */
export async function fieldsOfNew(ctx: VerbContext, body: CreateModel): Promise<Fields> {
  const { model_name, upstream_model, api_base, api_key, health, ...given } = body;
  return {
    ...DEFAULTS,
    health_check_interval_secs: ctx.checkIntervalSecs,
    ...dropUndefined(given),
    ...healthColumns(health),
    upstream_model: upstream_model ?? model_name,
    api_base: api_base ?? "",
    api_key: await sealNewSecret(ctx, api_key, null),
  };
}

/** Columns that a change sets: an omitted field keeps its value, null stands for the default. A null credential is kept. */
export async function fieldsOfUpdate(ctx: VerbContext, body: PatchModel, before: ModelRow): Promise<Partial<Fields>> {
  const { model_name: _name, api_key, health, ...given } = body;
  const initial = { ...DEFAULTS, upstream_model: before.model_name, api_base: "" };
  return {
    ...withDefaults<Fields>(dropUndefined(given), initial),
    ...healthColumns(healthOf(ctx, health)),
    api_key: await sealNewSecret(ctx, api_key, before.api_key),
  };
}

function healthOf(ctx: VerbContext, given: PatchModel["health"]): CreateModel["health"] {
  const initial = {
    checks_enabled: DEFAULTS.health_checks_enabled,
    alerts_enabled: DEFAULTS.health_alerts_enabled,
    check_interval_secs: ctx.checkIntervalSecs,
    failure_threshold: DEFAULTS.health_failure_threshold,
    maintenance_until: null,
    maintenance_note: null,
  };
  return given === null ? initial : given && withDefaults(given, initial);
}

/** The fields, with the default in place of null. */
function withDefaults<T extends object>(given: object, initial: Readonly<Record<string, unknown>>): Partial<T> {
  const entries = Object.entries(given).map(([name, value]: [string, unknown]) => [name, value ?? initial[name]]);
  return Object.fromEntries(entries) as Partial<T>;
}
