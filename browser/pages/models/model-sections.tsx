/** The fields of a model by section, and their values. They are changed in one form (edit-tab.tsx), which has the schemas. */
import type { patchModelSchema } from "../../../shared/schema/model.ts";
import type { Records } from "../../data/api.ts";
import { factLabel, factText } from "../../forms/record/fact-text.ts";
import { useZone } from "../../time/zone-context.tsx";
import { Facts } from "../../ui/layout.tsx";
import type { ModelTabProps } from "./model-tab.ts";

type Section = readonly (keyof (typeof patchModelSchema)["shape"] | keyof Records["Model"]["health"])[];

export const MODEL_SECTIONS = {
  details: [
    "model_type",
    "api_base",
    "api_dialect",
    "responses_api",
    "auth_scheme",
    "upstream_model",
    "context_window",
    "description",
  ],
  // the price that is only stored is left out
  prices: [
    "input_cost_per_token",
    "output_cost_per_token",
    "cached_input_cost_per_token",
    "reasoning_output_cost_per_token",
    "cache_write_cost_per_token",
    "audio_input_cost_per_token",
    "audio_output_cost_per_token",
    "image_input_cost_per_token",
    "image_output_cost_per_token",
    "cost_per_image",
    "cost_per_character",
    "input_cost_per_second",
    "batch_price_factor",
  ],
  reliability: [
    "request_timeout_secs",
    "first_token_timeout_secs",
    "idle_timeout_secs",
    "stream_keepalive_secs",
    "max_retries",
    "retry_backoff_ms",
    "endpoint_selection_mode",
    "debug_diagnostics",
    "fallback_models",
    "fallback_on",
  ],
  capacity: ["max_in_flight", "capacity_mode", "adaptive_min", "adaptive_max"],
  share: ["admission_weight", "energy_slots_per_node"],
  cache: ["cache_enabled", "cache_ttl_secs"],
  supports: [
    "supports_function_calling",
    "supports_system_messages",
    "supports_response_schema",
    "supports_tool_choice",
    "supports_vision",
    "hidden_reasoning",
    "tags",
  ],
  boons: ["boons", "tool_servers"],
  /** Of the object of this name. */
  health: [
    "checks_enabled",
    "alerts_enabled",
    "check_interval_secs",
    "failure_threshold",
    "maintenance_until",
    "maintenance_note",
  ],
} as const satisfies Readonly<Record<string, Section>>;

/** The model with the fields of its health checks beside the others. */
export function flatModel(model: Records["Model"]) {
  return { ...model, ...model.health };
}

interface ModelFactsProps extends ModelTabProps {
  readonly section: keyof typeof MODEL_SECTIONS;
  /** Absent: all that the section has. */
  readonly names?: Section;
}

/** The values of a section. */
export function ModelFacts({ section, names = MODEL_SECTIONS[section], model }: ModelFactsProps) {
  const { zone } = useZone();
  const values: Readonly<Record<string, unknown>> = flatModel(model);
  const shown = names.filter((name, at) => {
    // A price that is not set is that of its side: input or output.
    if (section === "prices") return at < 2 || !isUnset(values[name]);
    return model.capacity_mode === "adaptive" || !name.startsWith("adaptive_");
  });
  return <Facts facts={shown.map((name) => [factLabel(name), factText(name, values[name], zone)])} />;
}

const isUnset = (price: unknown): boolean => price === null || price === 0;
