/** The fields of a model by section, and their values. They are changed in one form (edit-tab.tsx). */
import { FALLBACK_REASONS, MODEL_FIELDS } from "../../../shared/fields/model-fields.ts";
import { BOONS, type patchModelSchema, priceFields } from "../../../shared/schema/model.ts";
import { type FieldSpec, fieldSpecs } from "../../forms/record/field-specs.ts";
import { fieldLabel, valueText } from "../../forms/record/field-words.ts";
import { useZone } from "../../time/zone-context.tsx";
import { Facts } from "../../ui/layout.tsx";
import type { ModelTabProps } from "./model-tab.ts";

const specsOf = (...names: readonly (keyof (typeof patchModelSchema)["shape"])[]): readonly FieldSpec[] =>
  fieldSpecs(names, MODEL_FIELDS);

const PRICES = Object.keys(priceFields) as readonly (keyof typeof priceFields)[];

export const MODEL_SECTIONS = {
  details: specsOf(
    "model_type",
    "api_base",
    "api_dialect",
    "responses_api",
    "auth_scheme",
    "upstream_model",
    "context_window",
    "description",
  ),
  // the price that is only stored is left out
  prices: specsOf(...PRICES.filter((name) => name !== "cost_per_audio_second"), "batch_price_factor"),
  reliability: [
    ...specsOf(
      "request_timeout_secs",
      "first_token_timeout_secs",
      "idle_timeout_secs",
      "stream_keepalive_secs",
      "max_retries",
      "retry_backoff_ms",
      "endpoint_selection_mode",
      "debug_diagnostics",
      "fallback_models",
    ),
    { name: "fallback_on", kind: "choices", isNullable: false, choices: FALLBACK_REASONS },
  ],
  capacity: specsOf("max_in_flight", "capacity_mode", "adaptive_min", "adaptive_max"),
  share: specsOf("admission_weight", "energy_slots_per_node"),
  cache: specsOf("cache_enabled", "cache_ttl_secs"),
  supports: specsOf(
    "supports_function_calling",
    "supports_system_messages",
    "supports_response_schema",
    "supports_tool_choice",
    "supports_vision",
    "hidden_reasoning",
    "tags",
  ),
  boons: [{ name: "boons", kind: "choices", isNullable: false, choices: BOONS }, ...specsOf("tool_servers")],
} as const satisfies Readonly<Record<string, readonly FieldSpec[]>>;

/** The values of a section. */
export function ModelFacts({ section, model }: ModelTabProps & { readonly section: keyof typeof MODEL_SECTIONS }) {
  const { zone } = useZone();
  const values: Readonly<Record<string, unknown>> = model;
  const specs: readonly FieldSpec[] = MODEL_SECTIONS[section];
  return <Facts facts={specs.map(({ name }) => [fieldLabel(name), valueText(name, values[name], zone)])} />;
}
