import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { modelsTexts } from "../../messages/en/models.ts";
import { texts } from "../../messages/texts.ts";
import { isRead, useIsLate } from "../../time/use-is-late.ts";
import { Grid, Panel, Stack } from "../../ui/layout.tsx";
import { endpointsRead } from "./model-reads.ts";
import { ModelFacts } from "./model-sections.tsx";
import type { ModelTabProps } from "./model-tab.ts";
import { SavedConnectionTest } from "./saved-connection-test.tsx";
import { UpstreamKey } from "./upstream-key.tsx";

const text = texts("models", modelsTexts);
const EndpointsPanel = lazy(async () => ({ default: (await import("./endpoints-panel.tsx")).EndpointsPanel }));

/** Where the model is served. */
export function ConnectionTab({ model }: ModelTabProps) {
  const endpoints = useQuery(endpointsRead(model.id));
  const isLate = useIsLate();
  return (
    <Stack>
      <Suspense fallback={null}>
        <EndpointsPanel model={model} />
        <Stack isHidden={!isLate && !isRead(endpoints)}>
          <Grid minWidth="wide">
            <Panel title={text("details")}>
              <ModelFacts section="details" names={["api_base", "upstream_model"]} model={model} />
              <SavedConnectionTest values={model} model={model} />
            </Panel>
            <Panel title={text("key")}>
              <UpstreamKey owner={{ kind: "model", model }} />
            </Panel>
          </Grid>
        </Stack>
      </Suspense>
    </Stack>
  );
}
