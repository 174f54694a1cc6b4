/** One form of a model: which fields it has follows from the body of its route and the table of a model's fields. */
import "../../forms/record/no-code-from-texts.ts";
import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import * as z from "zod";
import { MODEL_FIELDS } from "../../../shared/fields/model-fields.ts";
import {
  BOONS,
  modelCacheSchema,
  modelCapacityModeSchema,
  modelCapacitySchema,
  modelReliabilitySchema,
  modelWeightSchema,
  updateModelSchema,
} from "../../../shared/schema/model.ts";
import { healthConfigSchema } from "../../../shared/schema/model-health.ts";
import { api, type Records } from "../../data/api.ts";
import type { FieldValues } from "../../forms/record/drafts.ts";
import { type FieldSpec, fieldSpecs, objectSpecs } from "../../forms/record/field-specs.ts";
import { RecordForm } from "../../forms/record/record-form.tsx";
import type { Answered } from "../../forms/record/use-announced-write.ts";
import { useZone } from "../../time/zone-context.tsx";
import { MODEL_READS } from "./model-reads.ts";
import type { ModelTabProps } from "./model-tab.ts";
import { freshModel, updateModel } from "./update-model.ts";

type Model = Records["Model"];

interface Form {
  readonly schema: z.ZodType;
  readonly specs: readonly FieldSpec[];
  readonly send: (queries: QueryClient, id: string, body: FieldValues) => Answered;
}

const updateSend: Form["send"] = async (queries, id, body) => await updateModel(queries, id, body);
const at = (id: string) => ({ params: { path: { id } } });

/** Some fields of PUT /models/{id}, which keeps what it does not name. */
function part(names: readonly (keyof typeof updateModelSchema.shape)[], own: readonly FieldSpec[] = []): Form {
  const schema = z.object(Object.fromEntries(names.map((name) => [name, updateModelSchema.shape[name]])));
  const known = fieldSpecs(names, MODEL_FIELDS);
  const specs = known.map((spec) => own.find(({ name }) => name === spec.name) ?? spec);
  return { schema, specs, send: updateSend };
}

function whole(schema: z.ZodObject, send: (id: string, body: FieldValues) => Answered): Form {
  return {
    schema,
    specs: fieldSpecs(Object.keys(schema.shape), MODEL_FIELDS),
    send: async (_, id, body) => await send(id, body),
  };
}

const FORMS = {
  details: part(["model_type", "api_base", "upstream_model", "context_window", "description"]),
  prices: part([
    "input_cost_per_token",
    "output_cost_per_token",
    "cached_input_cost_per_token",
    "reasoning_output_cost_per_token",
    "cost_per_image",
    "cost_per_character",
    "input_cost_per_second",
  ]),
  energy: part(["energy_slots_per_node"]),
  boons: part(["boons", "tool_servers"], [{ name: "boons", kind: "choices", isNullable: false, choices: BOONS }]),
  supports: part([
    "supports_function_calling",
    "supports_system_messages",
    "supports_response_schema",
    "supports_tool_choice",
    "supports_vision",
    "tags",
  ]),
  reliability: whole(
    modelReliabilitySchema,
    async (id, body) =>
      await api.PUT("/api/v1/models/{id}/reliability", { ...at(id), body: body as Records["ModelReliability"] }),
  ),
  capacity: whole(
    modelCapacitySchema,
    async (id, body) =>
      await api.PUT("/api/v1/models/{id}/capacity", { ...at(id), body: body as Records["ModelCapacity"] }),
  ),
  mode: whole(
    modelCapacityModeSchema,
    async (id, body) =>
      await api.PUT("/api/v1/models/{id}/capacity-mode", { ...at(id), body: body as Records["ModelCapacityMode"] }),
  ),
  weight: whole(
    modelWeightSchema,
    async (id, body) =>
      await api.PUT("/api/v1/models/{id}/weight", { ...at(id), body: body as Records["ModelWeight"] }),
  ),
  cache: whole(
    modelCacheSchema,
    async (id, body) => await api.PUT("/api/v1/models/{id}/cache", { ...at(id), body: body as Records["ModelCache"] }),
  ),
  health: {
    schema: healthConfigSchema,
    specs: objectSpecs(MODEL_FIELDS.health_checks_enabled.record.health).map((spec) =>
      spec.name === "maintenance_until" ? { ...spec, kind: "instant" as const } : spec,
    ),
    send: async (_, id, body) =>
      await api.PUT("/api/v1/models/{id}/health/config", { ...at(id), body: body as Records["ModelHealthConfig"] }),
  },
} as const satisfies Readonly<Record<string, Form>>;

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
  const { schema, send, specs: own }: Form = FORMS[form];
  const recordOf = (one: Model): FieldValues => (form === "health" ? one.health : one);
  return (
    <RecordForm
      {...rest}
      what={what}
      name={model_name}
      specs={own.map((spec) => specs?.find(({ name }) => name === spec.name) ?? spec)}
      schema={schema}
      record={recordOf(model)}
      zone={zone}
      sends="all"
      send={async (body) => await send(queries, id, body)}
      readNow={async () => recordOf(await freshModel(queries, id))}
      touches={MODEL_READS}
    />
  );
}
