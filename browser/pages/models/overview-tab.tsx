/** What a model does: spend, what runs and waits, its last failures, and how it is set. */
import { LastFailures } from "../../forms/usage/last-failures.tsx";
import { modelsTexts } from "../../messages/en/models.ts";
import { texts } from "../../messages/texts.ts";
import { Grid, Panel, Stack } from "../../ui/layout.tsx";
import { ModelFacts } from "./model-sections.tsx";
import type { ModelTabProps } from "./model-tab.ts";
import { ModelTiles } from "./model-tiles.tsx";

const text = texts("models", modelsTexts);

export function ModelOverviewTab({ model }: ModelTabProps) {
  return (
    <Stack>
      <ModelTiles model={model} />
      <LastFailures filter={{ model: model.model_name }} />
      <Grid minWidth="wide">
        <Panel title={text("details")}>
          <ModelFacts section="details" model={model} />
        </Panel>
        <Panel title={text("prices")}>
          <ModelFacts section="prices" model={model} />
        </Panel>
      </Grid>
    </Stack>
  );
}
