import { useQuery } from "@tanstack/react-query";
import { assistantBodySchema, assistantValueSchema } from "../../../shared/schema/settings/assistant.ts";
import { assistantState } from "../../data/assistant.ts";
import { objectSpecs, valueSpec } from "../../forms/record/field-specs.ts";
import { settingsTexts } from "../../messages/en/settings.ts";
import { texts } from "../../messages/texts.ts";
import { Notice } from "../../ui/states.tsx";
import { ModelTrial, useChatModels } from "./model-trial.tsx";
import { SettingPanel } from "./setting-panel.tsx";
import { ToolsControl } from "./tools-control.tsx";

const text = texts("settings", settingsTexts);
const SPECS = [...objectSpecs(assistantValueSchema), valueSpec("tools_enabled")];

/** Which model answers for the assistant, which tools it has, and how much load its benchmark may make. */
export function AssistantTab() {
  const models = useChatModels();
  const tools = useQuery(assistantState);
  // Drawn with its tools: what comes later would move what is below.
  if (tools.isPending) return null;
  return (
    <SettingPanel
      name="assistant"
      title={text("assistant")}
      effect={text("assistantText")}
      specs={SPECS}
      schema={assistantBodySchema}
      offered={{ brain_model: models }}
      controls={{
        tools_enabled: (own) => <ToolsControl {...own} />,
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
