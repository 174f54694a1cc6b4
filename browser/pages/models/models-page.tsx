import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, type LinkProps, useNavigate } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { lazy, Suspense, useMemo, useState } from "react";
import type { Records } from "../../data/api.ts";
import { read } from "../../data/reads.ts";
import { changedSearch } from "../../data/search-params.ts";
import { useList } from "../../data/use-list.ts";
import { pageTarget } from "../../explain/link-target.ts";
import { CsvLink } from "../../forms/list/csv-link.tsx";
import { ListTable } from "../../forms/list/list-table.tsx";
import { type ListColumn, useListView } from "../../forms/list/use-list-view.tsx";
import { choiceLabel } from "../../forms/record/field-words.ts";
import { SearchField } from "../../forms/search-field.tsx";
import { commonText } from "../../messages/common.ts";
import { healthTexts } from "../../messages/en/health.ts";
import { modelsTexts } from "../../messages/en/models.ts";
import { pageTexts } from "../../messages/en/pages.ts";
import { texts } from "../../messages/texts.ts";
import { instantOf } from "../../time/instants.ts";
import { Age, useNow } from "../../time/use-clock.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { SelectField } from "../../ui/fields.tsx";
import { formatCount } from "../../ui/format.ts";
import { PageHead, Row, Stack } from "../../ui/layout.tsx";
import { Empty } from "../../ui/states.tsx";
import { HealthBadge } from "./health-badge.tsx";
import { filteredRows, type ModelRow, modelRows, shownHealth } from "./model-rows.ts";
import { HEALTH_STATES, MODEL_KINDS } from "./models-search.ts";
import { pricesText } from "./prices-text.ts";

const text = texts("models", modelsTexts);
const healthText = texts("health", healthTexts);
const pageText = texts("pages", pageTexts);
const route = getRouteApi("/signed-in/admin/models");
const CreateModel = lazy(async () => ({ default: (await import("./create-model.tsx")).CreateModel }));

const LIVE_EVERY_MS = 5000;
const EVERY_MS = 20_000;
const USED_EVERY_MS = 60_000;
const USED_MAX = "10000";

/** All models. The search is the server's; filters and order are over all that it found. */
export function ModelsPage() {
  const search = route.useSearch();
  const { type, health } = search;
  const navigate = useNavigate({ from: "/models" });
  const [isCreating, setCreating] = useState(false);
  const models = useList<Records["Model"]>("/api/v1/models", { q: search.q }, { everyMs: EVERY_MS, readsAll: true });
  const live = useQuery(read("/api/v1/fairshare/live", {}, { everyMs: LIVE_EVERY_MS }));
  const used = useQuery(
    read("/api/v1/usage", { params: { query: { group_by: "model", limit: USED_MAX } } }, { everyMs: USED_EVERY_MS }),
  );
  const attention = useQuery(read("/api/v1/overview/attention", {}, { everyMs: EVERY_MS }));
  const nowMs = useNow(EVERY_MS);
  const rows = useMemo(() => {
    const found = models.data;
    if (found === undefined) return undefined;
    const known = { live: live.data, used: used.data, attention: attention.data };
    return filteredRows(modelRows(found, known), { type, health }, nowMs);
  }, [models.data, live.data, used.data, attention.data, type, health, nowMs]);
  const cell = live.data?.cell;
  const columns = useMemo(() => columnsOf(cell, nowMs), [cell, nowMs]);
  const view = useListView({ rows, columns, usual: { column: "name", isDescending: false } });
  const filter = (change: Parameters<typeof changedSearch<typeof search>>[1]): void =>
    void navigate({ search: (before) => changedSearch(before, change), replace: true });
  const open = (modelId: string): void => void navigate({ to: "/models/$modelId", params: { modelId } });
  return (
    <Stack>
      <PageHead
        title={pageText("models")}
        question={pageText("modelsQuestion")}
        actions={
          <>
            {view.choice}
            <CsvLink path="/api/v1/models" query={{ q: search.q }} title={text("csvHint")} />
            <Link to="/prices">{pageText("prices")}</Link>
            <Button writes tone="primary" icon={<Plus size={14} aria-hidden />} onClick={() => setCreating(true)}>
              {text("create")}
            </Button>
          </>
        }
      />
      <Row>
        <SearchField
          label={text("filter")}
          value={search.q ?? ""}
          onSearch={(q) => filter({ q: q === "" ? undefined : q })}
        />
        <SelectField
          label={text("type")}
          value={search.type ?? ""}
          onChange={({ target }) => filter({ type: MODEL_KINDS.find((type) => type === target.value) })}
          choices={[
            { value: "", label: commonText("all") },
            ...MODEL_KINDS.map((value) => ({ value, label: choiceLabel(value) })),
          ]}
        />
        <SelectField
          label={text("health")}
          value={search.health ?? ""}
          onChange={({ target }) => filter({ health: HEALTH_STATES.find((state) => state === target.value) })}
          choices={[
            { value: "", label: commonText("all") },
            ...HEALTH_STATES.map((value) => ({ value, label: healthText(value) })),
          ]}
        />
      </Row>
      <ListTable
        state={models}
        view={view}
        label={text("list")}
        rowKey={({ model }) => model.id}
        onOpen={({ model }) => open(model.id)}
        empty={
          search.q !== undefined || type !== undefined || health !== undefined ? (
            <Empty
              title={text("noMatch")}
              action={
                <Button onClick={() => filter({ q: undefined, type: undefined, health: undefined })}>
                  {commonText("clearFilters")}
                </Button>
              }
            >
              {text("noMatchText")}
            </Empty>
          ) : (
            <Empty
              title={text("empty")}
              action={
                <Button writes tone="primary" onClick={() => setCreating(true)}>
                  {text("createFirst")}
                </Button>
              }
            >
              {text("emptyText")}
            </Empty>
          )
        }
      />
      <Suspense fallback={null}>
        {isCreating && <CreateModel onCreated={open} onClose={() => setCreating(false)} />}
      </Suspense>
    </Stack>
  );
}

function columnsOf(cell: string | undefined, nowMs: number): readonly ListColumn<ModelRow>[] {
  const runningTitle = cell === undefined ? undefined : text("runningIn", { cell });
  return [
    {
      id: "name",
      head: text("name"),
      isWide: true,
      sortBy: ({ model }) => model.model_name,
      cell: ({ model }) => (
        <Link to="/models/$modelId" params={{ modelId: model.id }} title={model.model_name}>
          <bdi>{model.model_name}</bdi>
        </Link>
      ),
    },
    {
      id: "type",
      head: text("type"),
      sortBy: ({ model }) => choiceLabel(model.model_type),
      cell: ({ model }) => choiceLabel(model.model_type),
    },
    {
      id: "health",
      head: text("health"),
      sortBy: ({ model }) => shownHealth(model, nowMs),
      cell: ({ model, endpointsDown }) => (
        <>
          <HealthBadge status={shownHealth(model, nowMs)} />{" "}
          {endpointsDown > 0 && <Badge tone="warn">{text("endpointsDown", { count: endpointsDown })}</Badge>}
        </>
      ),
    },
    {
      id: "running",
      head: <span title={runningTitle}>{text("running")}</span>,
      name: text("running"),
      align: "right",
      sortBy: ({ running }) => running,
      cell: ({ model, running }) =>
        model.max_in_flight === null
          ? formatCount(running)
          : text("runningOf", { running: formatCount(running), max: formatCount(model.max_in_flight) }),
    },
    {
      id: "price",
      head: text("price"),
      align: "right",
      sortBy: ({ model }) => model.input_cost_per_token,
      cell: ({ model }) => pricesText(model),
    },
    {
      id: "requests",
      head: text("requests24h"),
      align: "right",
      sortBy: ({ requests }) => requests,
      cell: ({ model, requests }) => (
        <Link {...(pageTarget("/logs", { model: model.model_name }) as LinkProps)}>{formatCount(requests)}</Link>
      ),
    },
    {
      id: "failed",
      head: text("failed24h"),
      align: "right",
      sortBy: ({ failed }) => failed,
      cell: ({ model, failed }) => (
        <Link {...(pageTarget("/logs", { model: model.model_name, status: "failed" }) as LinkProps)}>
          {formatCount(failed)}
        </Link>
      ),
    },
    {
      id: "created",
      head: text("created"),
      align: "right",
      sortBy: ({ model }) => instantOf(model.created_at),
      cell: ({ model }) => <Age at={model.created_at} />,
    },
  ];
}
