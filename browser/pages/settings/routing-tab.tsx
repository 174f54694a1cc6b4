import { autoRouterBodySchema, autoRouterSchema } from "../../../shared/schema/settings/auto-router.ts";
import { objectSpecs } from "../../forms/record/field-specs.ts";
import { settingsTexts } from "../../messages/en/settings.ts";
import { texts } from "../../messages/texts.ts";
import { Badge } from "../../ui/badge.tsx";
import { Facts, Row } from "../../ui/layout.tsx";
import { ModelTrial, useChatModels } from "./model-trial.tsx";
import { SettingPanel, useSetting } from "./setting-panel.tsx";
import { undoRouting } from "./setting-undo.ts";

const text = texts("settings", settingsTexts);
const SPECS = objectSpecs(autoRouterSchema.omit({ available_tags: true, warnings: true, rev: true }));

/** How requests for the model `auto` are routed. */
export function RoutingTab() {
  const models = useChatModels();
  const { data } = useSetting("auto-router");
  const tags = data?.available_tags.map((tag) => <Badge key={tag}>{tag}</Badge>) ?? [];
  return (
    <SettingPanel
      name="auto-router"
      title={text("routing")}
      effect={text("routingText")}
      specs={SPECS}
      schema={autoRouterBodySchema}
      undoOf={undoRouting}
      offered={{ classifier_model: models }}
      note={({ classifier_model }) => (
        <>
          <Facts facts={[[text("tags"), tags.length > 0 ? <Row key="tags">{tags}</Row> : text("tagsNone")]]} />
          <ModelTrial model={classifier_model} />
        </>
      )}
    />
  );
}
