import { boonsBodySchema, boonsValueSchema } from "../../../shared/schema/settings/boons.ts";
import { answerValue, api, type Records } from "../../data/api.ts";
import { objectSpecs } from "../../forms/record/field-specs.ts";
import { fieldLabel } from "../../forms/record/field-words.ts";
import { Trial } from "../../forms/trial.tsx";
import { settingsTexts } from "../../messages/en/settings.ts";
import { texts } from "../../messages/texts.ts";
import { Notice } from "../../ui/states.tsx";
import { ModelTrial, useChatModels } from "./model-trial.tsx";
import { SettingPanel } from "./setting-panel.tsx";

const text = texts("settings", settingsTexts);
const SPECS = objectSpecs(boonsValueSchema);

/** By title: the first letters of the fields, and the field that names a model. */
const GROUPS = [
  { title: "vision", effect: "visionText", prefix: "vision_", model: "vision_fallback_model" },
  {
    title: "structured",
    effect: "structuredText",
    prefix: "structured_output_",
    model: "structured_output_fixer_model",
  },
  { title: "tools", effect: "toolsText", prefix: "tool_loop_", model: null },
  { title: "compression", effect: "compressionText", prefix: "compression_", model: null },
] as const;

/** The switches and bounds of boons, one form for each. */
export function BoonsTab() {
  const models = useChatModels();
  return GROUPS.map(({ title, effect, prefix, model }) => (
    <SettingPanel
      key={title}
      name="boons"
      title={text(title)}
      effect={`${text(effect)} ${text("boonsNext")}`}
      specs={SPECS.filter(({ name }) => name.startsWith(prefix)).map((spec) => ({
        ...spec,
        label: fieldLabel(spec.name.replace(prefix, "")),
      }))}
      schema={boonsBodySchema}
      {...(model !== null && { offered: { [model]: models } })}
      note={(values) =>
        title === "compression" ? (
          <Trial label={text("probe")} run={async () => answerValue(await api.GET("/api/v1/settings/compressor"))}>
            {(probe) => <Probe {...probe} />}
          </Trial>
        ) : (
          model !== null && <ModelTrial model={values[model]} />
        )
      }
    />
  ));
}

function Probe({ configured, reachable, url, model, error }: Records["Compressor"]) {
  if (!configured) return <Notice tone="warn">{text("probeNone")}</Notice>;
  return reachable ? (
    <Notice tone="good">{text("probeOk", { url, model: model ?? "–" })}</Notice>
  ) : (
    <Notice tone="bad">{text("probeBad", { url, error: error ?? "" })}</Notice>
  );
}
