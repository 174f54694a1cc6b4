import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { AssistantState } from "../../../shared/wire/assistant.ts";
import { api } from "../../data/api.ts";
import { assistantState } from "../../data/assistant.ts";
import { read } from "../../data/reads.ts";
import { pageTarget } from "../../explain/link-target.ts";
import { useUndoableWrite } from "../../forms/use-undoable-write.ts";
import { TargetLink } from "../../links/target-link.tsx";
import { assistantTexts } from "../../messages/en/assistant.ts";
import { texts } from "../../messages/texts.ts";
import { Button } from "../../ui/button.tsx";
import { SelectField } from "../../ui/fields.tsx";
import { formatText } from "../../ui/format.ts";
import { Panel, Row } from "../../ui/layout.tsx";
import { Failure, Loaded, Notice } from "../../ui/states.tsx";

const text = texts("assistant", assistantTexts);

/** Questions to start with. */
export const TRIES = [text("try1"), text("try2"), text("try3")];

/** Why the assistant cannot be asked, and how to change that: a model is chosen here, the rest is in the settings. */
export function ChooseModel({ state }: { readonly state: AssistantState }) {
  const isOff = state.reason === "disabled";
  const title =
    state.reason === "model_missing"
      ? text("modelMissing", { model: state.brain_model ?? "" })
      : text(isOff ? "off" : "noModel");
  return (
    <Panel title={<bdi>{title}</bdi>}>
      {!isOff && (
        <>
          <p>{text("emptyText")}</p>
          <ul>
            {TRIES.map((question) => (
              <li key={question}>{question}</li>
            ))}
          </ul>
          <p>{text("how")}</p>
          <Models from={state.brain_model} />
        </>
      )}
      <TargetLink target={pageTarget("/settings", { tab: "assistant" })}>{text("openSettings")}</TargetLink>
    </Panel>
  );
}

function Models({ from }: { readonly from: string | null }) {
  const models = useQuery(read("/api/v1/models", { params: { query: { limit: "1000" } } }));
  const [chosen, setChosen] = useState("");
  const state = useQuery(assistantState);
  const { change, isBusy, error } = useUndoableWrite<string | null>({
    send: async (brain_model) => await api.PUT("/api/v1/settings/assistant", { body: { brain_model } }),
    touches: ["/api/v1/settings/assistant"],
    describe: (_, model) => text("used", { model: formatText(model) }),
  });
  return (
    <Loaded state={models}>
      {(all) => {
        const chat = all
          .filter((one) => one.model_type === "chat" && one.enabled)
          .toSorted((a, b) => Number(b.supports_function_calling) - Number(a.supports_function_calling));
        const model = chosen || chat[0]?.model_name;
        if (model === undefined) return <Notice>{text("noModels")}</Notice>;
        return (
          <>
            <Row>
              <SelectField
                label={text("model")}
                value={model}
                onChange={(event) => setChosen(event.target.value)}
                choices={chat.map(({ model_name: value, supports_function_calling }) => ({
                  value,
                  label: supports_function_calling ? value : text("noTools", { model: value }),
                }))}
              />
              <Button tone="primary" isBusy={isBusy} onClick={() => change(from, model, () => void state.refetch())}>
                {text("use")}
              </Button>
            </Row>
            {error !== null && <Failure title={text("notRun")} error={error} />}
          </>
        );
      }}
    </Loaded>
  );
}
