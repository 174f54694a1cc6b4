/** All of a model in one form, which is saved at once and sends only the fields that were changed. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { FALLBACK_REASONS, MODEL_FIELDS } from "../../../shared/fields/model-fields.ts";
import { BOONS, patchModelSchema } from "../../../shared/schema/model.ts";
import { healthConfigSchema } from "../../../shared/schema/model-health.ts";
import type { Records } from "../../data/api.ts";
import { read } from "../../data/reads.ts";
import type { FieldValues } from "../../forms/record/drafts.ts";
import { useOpenPart } from "../../forms/record/field-control.tsx";
import { type FieldSpec, fieldSpecs, objectSpecs } from "../../forms/record/field-specs.ts";
import { RecordForm } from "../../forms/record/record-form.tsx";
import { modelsTexts } from "../../messages/en/models.ts";
import { texts } from "../../messages/texts.ts";
import { useZone } from "../../time/zone-context.tsx";
import { Panel } from "../../ui/layout.tsx";
import { BoonNotice } from "./boon-notice.tsx";
import { MODEL_READS } from "./model-reads.ts";
import { flatModel, MODEL_SECTIONS } from "./model-sections.tsx";
import type { ModelTabProps } from "./model-tab.ts";
import { SavedConnectionTest } from "./saved-connection-test.tsx";
import { freshModel, updateModel } from "./update-model.ts";

const text = texts("models", modelsTexts);

const HEALTH = objectSpecs(MODEL_FIELDS.health_checks_enabled.record.health).map((spec) =>
  spec.name === "maintenance_until" ? { ...spec, kind: "instant" as const } : spec,
);
const choices = (name: string, offered: readonly string[]): FieldSpec => ({
  name,
  kind: "choices",
  isNullable: false,
  choices: offered,
});
const SPECS: readonly FieldSpec[] = Object.values(MODEL_SECTIONS)
  .flat()
  .flatMap((name) => {
    if (name === "boons") return [choices(name, BOONS)];
    if (name === "fallback_on") return [choices(name, FALLBACK_REASONS)];
    return HEALTH.find((spec) => spec.name === name) ?? fieldSpecs([name], MODEL_FIELDS);
  });
const SCHEMA = patchModelSchema.safeExtend(healthConfigSchema.partial().shape);
const HEALTH_NAMES: ReadonlySet<string> = new Set(MODEL_SECTIONS.health);
const HEADINGS = Object.fromEntries(
  Object.entries(MODEL_SECTIONS).map(([section, [first]]) => [first, text(section as keyof typeof MODEL_SECTIONS)]),
);

/** Prices that a type of model has no use for. */
const UNUSED_PRICES: Readonly<Record<Records["Model"]["model_type"], RegExp>> = {
  chat: /^(?:cost_per_character|input_cost_per_second)$/,
  embedding: /output|cache|cost_per_(?:image|character|second)$/,
  audio_transcription: /image|cost_per_character/,
  audio_speech: /image|cost_per_second/,
  image: /audio|cost_per_(?:character|second)/,
};
const PRICES: ReadonlySet<string> = new Set(MODEL_SECTIONS.prices);

/** A price that is set is shown, whatever the type. */
function isUsed(name: string, model: Records["Model"]): boolean {
  const isSet = Boolean(model[name as keyof typeof model]);
  return isSet || !(PRICES.has(name) && UNUSED_PRICES[model.model_type].test(name));
}

export function ModelEditTab({ model, from }: ModelTabProps) {
  useOpenPart(Object.entries(MODEL_SECTIONS).find(([section]) => section === from)?.[1][0]);
  const { id, model_name: name } = model;
  const { zone } = useZone();
  const queries = useQueryClient();
  const servers = useQuery(read("/api/v1/mcp-servers", { params: { query: { limit: "1000" } } }));
  const offered = [...new Set([...(servers.data ?? []).map((server) => server.name), ...model.tool_servers])];
  // Always choices: a control that became another one while the form is open would count as changed.
  const specs = SPECS.filter(({ name: field }) => isUsed(field, model)).map((spec) =>
    spec.name === "tool_servers" ? choices(spec.name, offered) : spec,
  );
  return (
    <Panel title={text("edit")}>
      <RecordForm
        what={text("settings")}
        name={name}
        specs={specs}
        schema={SCHEMA}
        record={flatModel(model)}
        zone={zone}
        sends="changed"
        headings={HEADINGS}
        note={(values: FieldValues) => (
          <>
            <BoonNotice boons={values["boons"]} servers={values["tool_servers"]} />
            <SavedConnectionTest values={values} model={model} />
          </>
        )}
        send={async (body, header) => await updateModel(id, withHealth(body), header)}
        readNow={async () => flatModel(await freshModel(queries, id))}
        recordIn={(answer) => flatModel(answer as Records["Model"])}
        touches={MODEL_READS}
      />
    </Panel>
  );
}

/** The body with the fields of the health checks in their object. */
function withHealth(body: FieldValues): FieldValues {
  const [own, health] = [false, true].map((isHealth) =>
    Object.fromEntries(Object.entries(body).filter(([name]) => HEALTH_NAMES.has(name) === isHealth)),
  );
  return { ...own, ...(Object.keys(health ?? {}).length === 0 ? {} : { health }) };
}
