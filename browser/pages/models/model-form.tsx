/** One form of a model. It sends only the fields that were changed. */
import "../../forms/record/no-code-from-texts.ts";
import { useQueryClient } from "@tanstack/react-query";
import { FALLBACK_REASONS, MODEL_FIELDS } from "../../../shared/fields/model-fields.ts";
import { BOONS, patchModelSchema, priceFields } from "../../../shared/schema/model.ts";
import { healthConfigSchema } from "../../../shared/schema/model-health.ts";
import type { Records } from "../../data/api.ts";
import { type FieldSpec, fieldSpecs, objectSpecs } from "../../forms/record/field-specs.ts";
import { RecordForm, type Revision } from "../../forms/record/record-form.tsx";
import { useZone } from "../../time/zone-context.tsx";
import { MODEL_READS } from "./model-reads.ts";
import type { ModelTabProps } from "./model-tab.ts";
import { freshModel, updateModel } from "./update-model.ts";

type Model = Records["Model"];

const specsOf = (...names: readonly (keyof typeof patchModelSchema.shape)[]): readonly FieldSpec[] =>
  fieldSpecs(names, MODEL_FIELDS);

const PRICES = Object.keys(priceFields) as readonly (keyof typeof priceFields)[];

/** The fields of each form. */
const FORMS = {
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
  prices: specsOf(...PRICES.filter((name) => name !== "cost_per_audio_second")),
  energy: specsOf("energy_slots_per_node"),
  boons: [{ name: "boons", kind: "choices", isNullable: false, choices: BOONS }, ...specsOf("tool_servers")],
  supports: specsOf(
    "supports_function_calling",
    "supports_system_messages",
    "supports_response_schema",
    "supports_tool_choice",
    "supports_vision",
    "tags",
  ),
  reliability: [
    ...specsOf(
      "request_timeout_secs",
      "max_retries",
      "retry_backoff_ms",
      "endpoint_selection_mode",
      "debug_diagnostics",
      "fallback_models",
    ),
    { name: "fallback_on", kind: "choices", isNullable: false, choices: FALLBACK_REASONS },
  ],
  capacity: specsOf("max_in_flight"),
  mode: specsOf("capacity_mode", "adaptive_min", "adaptive_max"),
  weight: specsOf("admission_weight"),
  cache: specsOf("cache_enabled", "cache_ttl_secs"),
  health: objectSpecs(MODEL_FIELDS.health_checks_enabled.record.health).map((spec) =>
    spec.name === "maintenance_until" ? { ...spec, kind: "instant" as const } : spec,
  ),
} as const satisfies Readonly<Record<string, readonly FieldSpec[]>>;

interface ModelFormProps extends Pick<Parameters<typeof RecordForm>[0], "controls" | "note">, ModelTabProps {
  readonly form: keyof typeof FORMS;
  /** What is edited, for messages. */
  readonly what: string;
  /** Controls in place of those of the table. */
  readonly specs?: readonly FieldSpec[];
}

/** The form. */
export function ModelForm({ form, what, model, specs, ...rest }: ModelFormProps) {
  const { id, model_name } = model;
  const { zone } = useZone();
  const queries = useQueryClient();
  const own: readonly FieldSpec[] = FORMS[form];
  const recordOf = (one: Model): Revision => (form === "health" ? { ...one.health, rev: one.rev } : one);
  return (
    <RecordForm
      {...rest}
      what={what}
      name={model_name}
      specs={own.map((spec) => specs?.find(({ name }) => name === spec.name) ?? spec)}
      schema={form === "health" ? healthConfigSchema : patchModelSchema}
      record={recordOf(model)}
      zone={zone}
      sends="changed"
      send={async (body, header) => await updateModel(id, form === "health" ? { health: body } : body, header)}
      readNow={async () => recordOf(await freshModel(queries, id))}
      recordIn={(answer) => recordOf(answer as Model)}
      touches={MODEL_READS}
    />
  );
}
