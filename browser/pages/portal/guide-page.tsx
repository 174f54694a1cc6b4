import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { isModelPermitted } from "../../../shared/access/access-window.ts";
import { changedSearch } from "../../data/search-params.ts";
import { sessionQuery } from "../../data/session.ts";
import {
  aiSdkExample,
  anthropicExample,
  curlExample,
  langchainExample,
  langchainPythonExample,
  pythonExample,
  SECRET_VARIABLE,
  typescriptExample,
} from "../../forms/keys/call-examples.ts";
import { keyState } from "../../forms/keys/key-state.ts";
import { commonText, STATE_TEXTS } from "../../messages/common.ts";
import { pageTexts } from "../../messages/en/pages.ts";
import { portalTexts } from "../../messages/en/portal.ts";
import { texts } from "../../messages/texts.ts";
import { useNow } from "../../time/use-clock.tsx";
import { Code } from "../../ui/copy.tsx";
import { SelectField } from "../../ui/fields.tsx";
import { Facts, PageHead, Panel, Row, Stack } from "../../ui/layout.tsx";
import { Empty, Loaded, Notice } from "../../ui/states.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { EXAMPLES } from "./portal-search.ts";
import { ownKeysRead, ownModelsRead } from "./reads.ts";

const text = texts("portal", portalTexts);
const pageText = texts("pages", pageTexts);
const route = getRouteApi("/signed-in/users/portal/guide");
const MINUTE_MS = 60_000;
const CODE = {
  curl: curlExample,
  python: pythonExample,
  typescript: typescriptExample,
  langchainPython: langchainPythonExample,
  langchain: langchainExample,
  aiSdk: aiSdkExample,
  anthropic: anthropicExample,
} as const satisfies Readonly<Record<(typeof EXAMPLES)[number], unknown>>;

/** How an application calls: code that is filled with the address, a model, and where the secret is. */
export function GuidePage() {
  const search = route.useSearch();
  const navigate = useNavigate({ from: "/portal/guide" });
  const nowMs = useNow(MINUTE_MS);
  const session = useQuery(sessionQuery);
  const models = useQuery(ownModelsRead);
  const keys = useQuery(ownKeysRead);
  const key = keys.data?.find(({ id }) => id === search.key_id);
  const change = (changed: Parameters<typeof changedSearch<typeof search>>[1]): void =>
    void navigate({ search: (before) => changedSearch(before, changed), replace: true, resetScroll: false });
  const nameOf = ({ name, key_prefix }: { readonly name: string; readonly key_prefix: string }): string =>
    name === "" ? `${key_prefix}…` : name;
  const baseUrl = session.data?.proxy_base_url ?? null;
  const chosen = search.code ?? "curl";
  return (
    <Stack>
      <PageHead title={pageText("portalGuide")} question={pageText("portalGuideQuestion")} />
      <Loaded state={models} texts={STATE_TEXTS}>
        {(all) => {
          const chat = all.filter(({ enabled, model_type }) => enabled && model_type === "chat");
          const usable = chat.filter(
            ({ model_name }) =>
              key === undefined || isModelPermitted({ allowed_models: key.allowed_models }, model_name),
          );
          const model = search.model ?? usable[0]?.model_name ?? chat[0]?.model_name;
          if (model === undefined) return <Empty title={text("noModels")}>{text("noModelsText")}</Empty>;
          const names = chat.map(({ model_name }) => model_name);
          const choices = names.includes(model) ? names : [model, ...names];
          return (
            <>
              <Row>
                <SelectField
                  label={text("model")}
                  value={model}
                  data-page-filter
                  onChange={({ target }) => change({ model: target.value })}
                  choices={choices.map((name) => ({ value: name, label: name }))}
                />
                <SelectField
                  label={text("key")}
                  value={key?.id ?? ""}
                  onChange={({ target }) => change({ key_id: target.value === "" ? undefined : target.value })}
                  choices={[
                    { value: "", label: text("anyKey") },
                    ...(keys.data ?? []).map((one) => ({ value: one.id, label: nameOf(one) })),
                  ]}
                />
                <Link to="/keys">{text("to_keys")}</Link>
              </Row>
              {key !== undefined && ["disabled", "expired"].includes(keyState(key, nowMs)) && (
                <Notice tone="warn">{text("keyEnded", { name: nameOf(key) })}</Notice>
              )}
              {!usable.some(({ model_name }) => model_name === model) && (
                <Notice tone="warn">
                  {text(key !== undefined && names.includes(model) ? "modelRefused" : "modelOff", { name: model })}
                </Notice>
              )}
              <Panel title={text("address")}>
                {baseUrl === null ? (
                  <p>{text("noAddress")}</p>
                ) : (
                  <Facts
                    facts={[
                      [text("openAiAddress"), <CopiedUrl key="openai" url={`${baseUrl}/v1`} />],
                      [text("anthropicAddress"), <CopiedUrl key="anthropic" url={baseUrl} />],
                    ]}
                  />
                )}
              </Panel>
              <Panel
                title={text("code")}
                note={
                  key === undefined
                    ? text("keyHintNone", { variable: SECRET_VARIABLE })
                    : text("keyHint", { name: nameOf(key), prefix: key.key_prefix, variable: SECRET_VARIABLE })
                }
              >
                <Tabs
                  label={text("code")}
                  chosen={chosen}
                  onChoose={(id) => change({ code: EXAMPLES.find((one) => one === id) })}
                  tabs={EXAMPLES.map((id) => ({
                    id,
                    label: text(id),
                    content: (
                      <Code
                        text={CODE[id]({ baseUrl: baseUrl ?? "https://gateway.example", secret: null, model })}
                        label={text("copy")}
                        doneLabel={commonText("copied")}
                      />
                    ),
                  }))}
                />
              </Panel>
            </>
          );
        }}
      </Loaded>
    </Stack>
  );
}

function CopiedUrl({ url }: { readonly url: string }) {
  return <Code text={url} label={commonText("copy")} doneLabel={commonText("copied")} />;
}
