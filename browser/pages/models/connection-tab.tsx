import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useState } from "react";
import type { FieldValues } from "../../forms/record/drafts.ts";
import { modelsTexts } from "../../messages/en/models.ts";
import { texts } from "../../messages/texts.ts";
import { Grid, Panel, Stack } from "../../ui/layout.tsx";
import { ConnectionTest, useConnectionTest } from "./connection-test.tsx";
import { ModelForm } from "./model-form.tsx";
import { endpointsRead } from "./model-reads.ts";
import type { ModelTabProps } from "./model-tab.ts";
import { perMillion } from "./prices-text.ts";
import { SecretField } from "./secret-field.tsx";
import { trafficShares } from "./traffic-shares.ts";
import { UpstreamKey } from "./upstream-key.tsx";

const text = texts("models", modelsTexts);
const EndpointsPanel = lazy(async () => ({ default: (await import("./endpoints-panel.tsx")).EndpointsPanel }));

/** Where the model is served, and what it costs. */
export function ConnectionTab({ model }: ModelTabProps) {
  return (
    <Stack>
      <Grid minWidth="wide">
        <Panel title={text("details")}>
          <ModelForm
            form="details"
            what={text("details")}
            model={model}
            note={(values) => <SavedConnectionTest values={values} model={model} />}
          />
        </Panel>
        <Stack>
          <Panel title={text("prices")}>
            <ModelForm
              form="prices"
              what={text("prices")}
              model={model}
              note={(values) => (
                <p>
                  {text("priceNote", {
                    input: perMillion(values["input_cost_per_token"]),
                    output: perMillion(values["output_cost_per_token"]),
                  })}
                </p>
              )}
            />
          </Panel>
          <Panel title={text("key")}>
            <UpstreamKey owner={{ kind: "model", model }} />
          </Panel>
        </Stack>
      </Grid>
      <Suspense fallback={null}>
        <EndpointsPanel model={model} />
      </Suspense>
    </Stack>
  );
}

/** The test of what a form says; the stored key is not here, so one can be typed for the test. */
function SavedConnectionTest({ values, model }: ModelTabProps & { readonly values: FieldValues }) {
  const endpoints = useQuery(endpointsRead(model.id));
  const test = useConnectionTest();
  const [key, setKey] = useState("");
  return (
    <>
      {model.api_key_set && (
        <SecretField label={text("testKey")} hint={text("testKeyHint")} value={key} onChange={setKey} />
      )}
      <ConnectionTest values={{ ...values, api_key: key }} test={test} />
      {endpoints.data !== undefined && trafficShares(model, endpoints.data).own === 0 && <p>{text("testOwnUnused")}</p>}
    </>
  );
}
