import { useQuery } from "@tanstack/react-query";
import { answerValue, api, type Records } from "../../data/api.ts";
import { read } from "../../data/reads.ts";
import { Trial } from "../../forms/trial.tsx";
import { settingsTexts } from "../../messages/en/settings.ts";
import { texts } from "../../messages/texts.ts";
import { formatMs } from "../../ui/format.ts";
import { Notice } from "../../ui/states.tsx";
import { sourcesRead } from "./setting-panel.tsx";

const text = texts("settings", settingsTexts);

/** The names of the chat models that there are, for forms that offer them: they are read once the forms are shown. */
export function useChatModels(): readonly string[] {
  const { isPending } = useQuery(sourcesRead);
  const { data } = useQuery(read("/api/v1/models", { params: { query: { limit: "200" } } }, { enabled: !isPending }));
  return (data ?? []).filter((model) => model.model_type === "chat").map((model) => model.model_name);
}

interface Checked {
  readonly model: Records["Model"] | undefined;
  /** Null: it was not asked. */
  readonly health: Records["ModelHealthSummary"] | null;
}

/** Tries whether a model that a setting names is there and answers. */
export function ModelTrial({ model }: { readonly model: unknown }) {
  if (typeof model !== "string" || model === "") return null;
  return (
    <Trial<Checked> key={model} label={text("modelTest", { model })} run={async () => await check(model)}>
      {(checked) => <Outcome name={model} {...checked} />}
    </Trial>
  );
}

async function check(name: string): Promise<Checked> {
  const found = answerValue(await api.GET("/api/v1/models", { params: { query: { q: name, limit: "1000" } } }));
  const model = found.find(({ model_name }) => model_name === name);
  if (model === undefined || !model.enabled) return { model, health: null };
  const path = { params: { path: { id: model.id } } };
  return { model, health: answerValue(await api.POST("/api/v1/models/{id}/health/check", path)).summary };
}

function Outcome({ name, model, health }: Checked & { readonly name: string }) {
  if (model === undefined) return <Notice tone="bad">{text("modelUnknown", { model: name })}</Notice>;
  if (health === null) return <Notice tone="bad">{text("modelDisabled", { model: name })}</Notice>;
  return health.status === "healthy" ? (
    <Notice tone="good">{text("modelGood", { model: name, ms: formatMs(health.last_latency_ms) })}</Notice>
  ) : (
    <Notice tone="bad">
      {text("modelBad", { model: name, status: health.status, message: health.last_message ?? "" })}
    </Notice>
  );
}
