import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { isModelPermitted } from "../../../shared/access/access-window.ts";
import { changedSearch } from "../../data/search-params.ts";
import { sessionQuery } from "../../data/session.ts";
import { firstModel } from "../../explain/first-model.ts";
import {
  aiSdkExample,
  type Call,
  langchainExample,
  langchainPythonExample,
  SECRET_VARIABLE,
} from "../../forms/keys/call-examples.ts";
import { keyState } from "../../forms/keys/key-state.ts";
import { commonText } from "../../messages/common.ts";
import { pageTexts } from "../../messages/en/pages.ts";
import { portalTexts } from "../../messages/en/portal.ts";
import { texts } from "../../messages/texts.ts";
import { useNow } from "../../time/use-clock.tsx";
import { Code } from "../../ui/copy.tsx";
import { SelectField } from "../../ui/fields.tsx";
import { PageHead, Panel, Row, Stack } from "../../ui/layout.tsx";
import { Loaded, Notice } from "../../ui/states.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { GUIDE_ROUTES, type GuideRoute, ROUTE_OF_KIND } from "./guide-routes.ts";
import { EXAMPLES } from "./portal-search.ts";
import { ownKeysRead, ownModelsRead } from "./reads.ts";
import { LANGUAGES, ROUTE_EXAMPLES } from "./route-examples.ts";

const text = texts("portal", portalTexts);
const pageText = texts("pages", pageTexts);
const route = getRouteApi("/signed-in/users/portal/guide");
const MINUTE_MS = 60_000;
/** Packages that call chat completions. */
const PACKAGES: Partial<Record<(typeof EXAMPLES)[number], (call: Call) => string>> = {
  langchainPython: langchainPythonExample,
  langchain: langchainExample,
  aiSdk: aiSdkExample,
};

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
  const named = models.data?.find(({ model_name }) => model_name === search.model);
  const routeId: GuideRoute = search.route ?? (named === undefined ? "chat" : ROUTE_OF_KIND[named.model_type]);
  const { kinds, path, ...codes } = ROUTE_EXAMPLES[routeId];
  const examples = routeId === "chat" ? EXAMPLES : LANGUAGES;
  const chosen = examples.find((one) => one === search.code) ?? "curl";
  const codeOf = (id: (typeof EXAMPLES)[number]) =>
    PACKAGES[id] ?? codes[LANGUAGES.find((one) => one === id) ?? "curl"];
  return (
    <Stack>
      <PageHead title={pageText("portalGuide")} question={pageText("portalGuideQuestion")} />
      <Loaded state={models}>
        {(all) => {
          const fitting = all.filter(({ enabled, model_type }) => enabled && kinds?.includes(model_type) !== false);
          const usable = fitting.filter(
            ({ model_name }) =>
              key === undefined || isModelPermitted({ allowed_models: key.allowed_models }, model_name),
          );
          const asked = named === undefined || kinds?.includes(named.model_type) !== false ? search.model : undefined;
          const model = asked ?? (firstModel(usable) ?? firstModel(fitting))?.model_name;
          const names = fitting.map(({ model_name }) => model_name);
          const choices = model === undefined || names.includes(model) ? names : [model, ...names];
          return (
            <>
              <Row>
                <SelectField
                  label={text("route")}
                  value={routeId}
                  data-page-filter
                  onChange={({ target }) => change({ route: GUIDE_ROUTES.find((one) => one === target.value) })}
                  choices={GUIDE_ROUTES.map((one) => ({ value: one, label: text(`route_${one}`) }))}
                />
                {kinds !== null && model !== undefined && (
                  <SelectField
                    label={text("model")}
                    value={model}
                    onChange={({ target }) => change({ route: routeId, model: target.value })}
                    choices={choices.map((name) => ({ value: name, label: name }))}
                  />
                )}
                <SelectField
                  label={text("key")}
                  value={key?.id ?? ""}
                  onChange={({ target }) => change({ key_id: target.value === "" ? undefined : target.value })}
                  choices={[
                    { value: "", label: text("anyKey") },
                    ...(keys.data ?? []).map((one) => ({ value: one.id, label: nameOf(one) })),
                  ]}
                />
                <Link to="/keys">{text("to_/keys")}</Link>
              </Row>
              {key !== undefined && ["disabled", "expired"].includes(keyState(key, nowMs)) && (
                <Notice tone="warn">{text("keyEnded", { name: nameOf(key) })}</Notice>
              )}
              {kinds !== null && model !== undefined && !usable.some(({ model_name }) => model_name === model) && (
                <Notice tone="warn">
                  {text(key !== undefined && names.includes(model) ? "modelRefused" : "modelOff", { name: model })}
                </Notice>
              )}
              <Panel title={text("address")}>
                {baseUrl === null ? (
                  <p>{text("noAddress")}</p>
                ) : (
                  <Stack>
                    <CopiedUrl label={text("openAiAddress")} url={`${baseUrl}/v1`} />
                    <CopiedUrl label={text("anthropicAddress")} url={baseUrl} />
                  </Stack>
                )}
              </Panel>
              <Panel
                title={text("codeOf", { path })}
                note={
                  key === undefined
                    ? text("keyHintNone", { variable: SECRET_VARIABLE })
                    : text("keyHint", { name: nameOf(key), prefix: key.key_prefix, variable: SECRET_VARIABLE })
                }
              >
                {kinds !== null && model === undefined && <p>{text("noModelsOfRoute")}</p>}
                {text(`about_${routeId}`) !== "" && <p>{text(`about_${routeId}`)}</p>}
                <Tabs
                  label={text("code")}
                  chosen={chosen}
                  onChoose={(id) => change({ code: EXAMPLES.find((one) => one === id) })}
                  tabs={examples.map((id) => ({
                    id,
                    label: text(
                      routeId === "chat" || id === "curl" ? id : id === "python" ? "plain_python" : "plain_typescript",
                    ),
                    content: (
                      <Code
                        text={codeOf(id)({
                          baseUrl: baseUrl ?? "https://gateway.example",
                          secret: null,
                          model: model ?? "MODEL",
                        })}
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

function CopiedUrl({ label, url }: { readonly label: string; readonly url: string }) {
  return (
    <div>
      <p>{label}</p>
      <Code text={url} label={commonText("copy")} doneLabel={commonText("copied")} />
    </div>
  );
}
