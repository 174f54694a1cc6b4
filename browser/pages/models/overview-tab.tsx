/** What a model does: spend, what runs and waits, its last failures, and how it is set. */
import { useQuery } from "@tanstack/react-query";
import { lastFailures } from "../../forms/usage/day-tiles.tsx";
import { LastFailures } from "../../forms/usage/last-failures.tsx";
import { modelsTexts } from "../../messages/en/models.ts";
import { texts } from "../../messages/texts.ts";
import { isRead, useIsLate } from "../../time/use-is-late.ts";
import { Grid, Panel, Stack } from "../../ui/layout.tsx";
import { ModelFacts } from "./model-sections.tsx";
import type { ModelTabProps } from "./model-tab.ts";
import { ModelTiles } from "./model-tiles.tsx";

const text = texts("models", modelsTexts);

export function ModelOverviewTab({ model }: ModelTabProps) {
  const filter = { model: model.model_name };
  const failures = useQuery(lastFailures(filter));
  const isLate = useIsLate();
  return (
    <Stack>
      <ModelTiles model={model} />
      <LastFailures filter={filter} />
      <Stack isHidden={!isLate && !isRead(failures)}>
        <Grid minWidth="wide">
          <Panel title={text("details")}>
            <ModelFacts section="details" model={model} />
          </Panel>
          <Panel title={text("prices")}>
            <ModelFacts section="prices" model={model} />
          </Panel>
        </Grid>
      </Stack>
    </Stack>
  );
}
