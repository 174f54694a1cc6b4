import { assistantBodySchema, assistantValueSchema } from "../../../shared/schema/settings/assistant.ts";
import { objectSpecs, valueSpec } from "../../forms/record/field-specs.ts";
import { settingsTexts } from "../../messages/en/settings.ts";
import { texts } from "../../messages/texts.ts";
import { Notice } from "../../ui/states.tsx";
import { LinesControl } from "./lines-control.tsx";
import { ModelTrial, useChatModels } from "./model-trial.tsx";
import { SettingPanel } from "./setting-panel.tsx";

const text = texts("settings", settingsTexts);
const SPECS = [...objectSpecs(assistantValueSchema), valueSpec("tools_enabled")];

type Switches = Readonly<Record<string, boolean>>;

/** Which model answers for the assistant, which tools it has, and how much load its benchmark may make. */
export function AssistantTab() {
  const models = useChatModels();
  return (
    <SettingPanel
      name="assistant"
      title={text("assistant")}
      effect={text("assistantText")}
      specs={SPECS}
      schema={assistantBodySchema}
      offered={{ brain_model: models }}
      controls={{
        tools_enabled: (own) => (
          <LinesControl<Switches>
            name="tools_enabled"
            {...own}
            toLines={(switches) => Object.keys(switches).filter((tool) => switches[tool] === false)}
            fromLines={(tools) => Object.fromEntries(tools.map((tool) => [tool, false]))}
          />
        ),
      }}
      note={({ enabled, brain_model }) =>
        enabled === true && brain_model === null ? (
          <Notice tone="warn">{text("brainNone")}</Notice>
        ) : (
          <ModelTrial model={brain_model} />
        )
      }
    />
  );
}
