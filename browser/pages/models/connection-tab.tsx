import { lazy, Suspense, useState } from "react";
import type { FieldValues } from "../../forms/record/drafts.ts";
import { modelsTexts } from "../../messages/en/models.ts";
import { texts } from "../../messages/texts.ts";
import { Grid, Panel, Stack } from "../../ui/layout.tsx";
import { ConnectionTest, useConnectionTest } from "./connection-test.tsx";
import { ModelForm } from "./model-form.tsx";
import type { ModelTabProps } from "./model-tab.ts";
import { perMillion } from "./prices-text.ts";
import { SecretField } from "./secret-field.tsx";
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
            note={(values) => <SavedConnectionTest values={values} isKeySet={model.api_key_set} />}
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
function SavedConnectionTest({ values, isKeySet }: { readonly values: FieldValues; readonly isKeySet: boolean }) {
  const test = useConnectionTest();
  const [key, setKey] = useState("");
  return (
    <>
      {isKeySet && <SecretField label={text("testKey")} hint={text("testKeyHint")} value={key} onChange={setKey} />}
      <ConnectionTest values={{ ...values, api_key: key }} test={test} />
    </>
  );
}
