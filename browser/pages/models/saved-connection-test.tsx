import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { FieldValues } from "../../forms/record/drafts.ts";
import { modelsTexts } from "../../messages/en/models.ts";
import { texts } from "../../messages/texts.ts";
import { ConnectionTest, useConnectionTest } from "./connection-test.tsx";
import { endpointsRead } from "./model-reads.ts";
import type { ModelTabProps } from "./model-tab.ts";
import { SecretField } from "./secret-field.tsx";
import { trafficShares } from "./traffic-shares.ts";

const text = texts("models", modelsTexts);

interface SavedConnectionTestProps extends ModelTabProps {
  /** Of the model, or as they are typed. */
  readonly values: FieldValues;
}

/** The test of a model's connection; the stored key is not here, so one can be typed for the test. */
export function SavedConnectionTest({ values, model }: SavedConnectionTestProps) {
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
