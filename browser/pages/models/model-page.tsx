import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, Navigate, useNavigate } from "@tanstack/react-router";
import { Pencil } from "lucide-react";
import { type ComponentType, lazy, Suspense, useEffect, useState } from "react";
import { read } from "../../data/reads.ts";
import { changedSearch } from "../../data/search-params.ts";
import { commonText } from "../../messages/common.ts";
import { modelsTexts } from "../../messages/en/models.ts";
import { texts } from "../../messages/texts.ts";
import { useNow } from "../../time/use-clock.tsx";
import { Button } from "../../ui/button.tsx";
import { PageHead, Stack } from "../../ui/layout.tsx";
import { useReadOnly } from "../../ui/read-only.ts";
import { Empty, Loaded, Notice } from "../../ui/states.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { HealthBadge } from "./health-badge.tsx";
import { endpointsRead } from "./model-reads.ts";
import { shownHealth } from "./model-rows.ts";
import type { ModelTabProps } from "./model-tab.ts";
import { MODEL_TABS } from "./models-search.ts";

const text = texts("models", modelsTexts);
const route = getRouteApi("/signed-in/admin/models/$modelId");
const EVERY_MS = 20_000;
const MINUTE_MS = 60_000;
const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

type ModelTab = (typeof MODEL_TABS)[number];

/** Each part is loaded when it is opened, at the same time as the model is read. */
const LOADS: Readonly<Record<ModelTab, () => Promise<{ default: ComponentType<ModelTabProps> }>>> = {
  overview: async () => ({ default: (await import("./overview-tab.tsx")).ModelOverviewTab }),
  connection: async () => {
    import("./endpoints-panel.tsx").catch(() => undefined); // a failure is shown in place of the panel
    return { default: (await import("./connection-tab.tsx")).ConnectionTab };
  },
  reliability: async () => ({ default: (await import("./form-tabs.tsx")).ReliabilityTab }),
  capacity: async () => ({ default: (await import("./capacity-tab.tsx")).CapacityTab }),
  boons: async () => ({ default: (await import("./form-tabs.tsx")).ModelBoonsTab }),
  health: async () => ({ default: (await import("./health-tab.tsx")).HealthTab }),
  usage: async () => ({ default: (await import("./usage-tab.tsx")).ModelUsageTab }),
  history: async () => ({ default: (await import("./form-tabs.tsx")).ModelHistoryTab }),
  edit: async () => ({ default: (await import("./edit-tab.tsx")).ModelEditTab }),
};
const PARTS = Object.fromEntries(Object.entries(LOADS).map(([id, load]) => [id, lazy(load)])) as unknown as Readonly<
  Record<ModelTab, ComponentType<ModelTabProps>>
>;
const loadActions = async () => ({ default: (await import("./model-actions.tsx")).ModelActions });
const ModelActions = lazy(loadActions);

/** One model, by its id; the name of a model leads to it too. It opens on what it does, and is edited in one form. */
export function ModelPage() {
  const { modelId } = route.useParams();
  return ID.test(modelId) ? <ModelOfId modelId={modelId} /> : <ModelOfName name={modelId} />;
}

function ModelOfName({ name }: { readonly name: string }) {
  const found = useQuery(read("/api/v1/models", { params: { query: { q: name, limit: "1000" } } }));
  const search = route.useSearch();
  return (
    <Loaded state={found}>
      {(models) => {
        const model = models.find(({ model_name }) => model_name === name);
        return model === undefined ? (
          <Gone />
        ) : (
          <Navigate to="/models/$modelId" params={{ modelId: model.id }} search={search} replace />
        );
      }}
    </Loaded>
  );
}

/** The part that an address names; an endpoint that is open is on the one of the connection. */
function tabOf({ tab, endpoint }: ReturnType<typeof route.useSearch>): ModelTab {
  return tab ?? (endpoint === undefined ? "overview" : "connection");
}

function Gone() {
  return (
    <Empty title={text("gone")} action={<Link to="/models">{text("back")}</Link>}>
      {commonText("gone")}
    </Empty>
  );
}

function ModelOfId({ modelId }: { readonly modelId: string }) {
  const model = useQuery(read("/api/v1/models/{id}", { params: { path: { id: modelId } } }, { everyMs: EVERY_MS }));
  const tab = tabOf(route.useSearch());
  useEffect(() => {
    for (const load of [loadActions, LOADS[tab]]) load().catch(() => undefined); // a failure is shown in place of the part
  }, [tab]);
  // Asked for while the part that shows them is still being loaded.
  useQuery(endpointsRead(modelId, tab === "connection"));
  const shown = model.data?.id === modelId.toLowerCase() ? model.data : undefined;
  const isGone = model.error?.status === 404;
  if (isGone && shown === undefined) return <Gone />;
  return (
    <Loaded state={{ ...model, data: shown, error: isGone ? null : model.error }}>
      {(one) => (
        <Stack>
          {isGone && <Notice tone="bad">{text("goneNow")}</Notice>}
          <Suspense fallback={null}>
            <ModelParts key={one.id} model={one} />
          </Suspense>
        </Stack>
      )}
    </Loaded>
  );
}

function ModelParts({ model }: ModelTabProps) {
  const tab = tabOf(route.useSearch());
  const navigate = useNavigate({ from: "/models/$modelId" });
  const nowMs = useNow(MINUTE_MS);
  const isReadOnly = useReadOnly();
  const Part = PARTS[tab];
  const [from, setFrom] = useState(tab);
  if (tab !== "edit" && tab !== from) setFrom(tab);
  const open = (id: ModelTab | undefined): void =>
    void navigate({ search: (before) => changedSearch(before, { tab: id }) });
  return (
    <>
      <PageHead
        title={<bdi>{model.model_name}</bdi>}
        question={model.description === "" ? undefined : <bdi>{model.description}</bdi>}
        actions={
          <>
            <HealthBadge status={shownHealth(model, nowMs)} />
            {tab !== "edit" && model.model_type === "chat" && !isReadOnly && (
              <Link to="/playground" search={{ model: model.model_name }}>
                {text("try")}
              </Link>
            )}
            {tab === "edit" ? (
              <Button onClick={() => open(from === "edit" ? undefined : from)}>{text("editDone")}</Button>
            ) : (
              <Button writes tone="primary" icon={<Pencil size={14} aria-hidden />} onClick={() => open("edit")}>
                {text("edit")}
              </Button>
            )}
            <ModelActions model={model} onMaintenance={() => open("health")} />
          </>
        }
      />
      {tab === "edit" ? (
        <Suspense fallback={null}>
          <Part model={model} from={from} />
        </Suspense>
      ) : (
        <Tabs
          label={text("tabs")}
          chosen={tab}
          onChoose={(id) => open(MODEL_TABS.find((one) => one === id))}
          tabs={MODEL_TABS.filter((id) => id !== "edit").map((id) => ({
            id,
            label: text(id),
            content:
              id === tab ? (
                <Suspense fallback={null}>
                  <Part model={model} />
                </Suspense>
              ) : null,
          }))}
        />
      )}
    </>
  );
}
