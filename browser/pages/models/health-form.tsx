/** How a model is checked, and until when it is in maintenance. Sends only the fields that were changed. */
import "../../forms/record/no-code-from-texts.ts";
import { useQueryClient } from "@tanstack/react-query";
import { MODEL_FIELDS } from "../../../shared/fields/model-fields.ts";
import { healthConfigSchema } from "../../../shared/schema/model-health.ts";
import type { Records } from "../../data/api.ts";
import { objectSpecs } from "../../forms/record/field-specs.ts";
import { RecordForm, type Revision } from "../../forms/record/record-form.tsx";
import { modelsTexts } from "../../messages/en/models.ts";
import { texts } from "../../messages/texts.ts";
import { useZone } from "../../time/zone-context.tsx";
import { MODEL_READS } from "./model-reads.ts";
import type { ModelTabProps } from "./model-tab.ts";
import { freshModel, updateModel } from "./update-model.ts";

const text = texts("models", modelsTexts);

const SPECS = objectSpecs(MODEL_FIELDS.health_checks_enabled.record.health).map((spec) =>
  spec.name === "maintenance_until" ? { ...spec, kind: "instant" as const } : spec,
);

export function HealthForm({ model }: ModelTabProps) {
  const { id, model_name: name } = model;
  const { zone } = useZone();
  const queries = useQueryClient();
  const recordOf = (one: Records["Model"]): Revision => ({ ...one.health, rev: one.rev });
  return (
    <RecordForm
      what={text("checksSettings")}
      name={name}
      specs={SPECS}
      schema={healthConfigSchema}
      record={recordOf(model)}
      zone={zone}
      sends="changed"
      send={async (body, header) => await updateModel(id, { health: body }, header)}
      readNow={async () => recordOf(await freshModel(queries, id))}
      recordIn={(answer) => recordOf(answer as Records["Model"])}
      touches={MODEL_READS}
    />
  );
}
