import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, type LinkProps, useNavigate } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { lazy, Suspense, useMemo, useState } from "react";
import type { Records } from "../../data/api.ts";
import { read } from "../../data/reads.ts";
import { changedSearch } from "../../data/search-params.ts";
import { useAllPages } from "../../data/use-all-pages.ts";
import { pageTarget } from "../../explain/link-target.ts";
import { choiceLabel } from "../../forms/record/field-words.ts";
import { SearchField } from "../../forms/search-field.tsx";
import { STATE_TEXTS } from "../../messages/common.ts";
import { healthTexts } from "../../messages/en/health.ts";
import { modelsTexts } from "../../messages/en/models.ts";
import { pageTexts } from "../../messages/en/pages.ts";
import { texts } from "../../messages/texts.ts";
import { Age } from "../../time/use-clock.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { SelectField } from "../../ui/fields.tsx";
import { formatCount } from "../../ui/format.ts";
import { PageHead, Panel, Row, Stack } from "../../ui/layout.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { HealthBadge } from "./health-badge.tsx";
import { filteredRows, inOrder, type ModelRow, modelRows, shownHealth } from "./model-rows.ts";
import { HEALTH_STATES, MODEL_KINDS, MODEL_SORTS } from "./models-search.ts";
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
  const navigate = useNavigate({ from: "/models" });
  const [isCreating, setCreating] = useState(false);
  const models = useAllPages<Records["Model"]>("/api/v1/models", { q: search.q }, { everyMs: EVERY_MS });
  const live = useQuery(read("/api/v1/fairshare/live", {}, { everyMs: LIVE_EVERY_MS }));
  const used = useQuery(
    read("/api/v1/usage", { params: { query: { group_by: "model", limit: USED_MAX } } }, { everyMs: USED_EVERY_MS }),
  );
  const attention = useQuery(read("/api/v1/overview/attention", {}, { everyMs: EVERY_MS }));
  const rows = useMemo(() => {
    const found = models.data;
    if (found === undefined) return undefined;
    const known = { live: live.data, used: used.data, attention: attention.data };
    return inOrder(filteredRows(modelRows(found, known), search), search);
  }, [models.data, live.data, used.data, attention.data, search]);
  const cell = live.data?.cell;
  const columns = useMemo(() => columnsOf(cell), [cell]);
  const filter = (change: Parameters<typeof changedSearch<typeof search>>[1]): void =>
    void navigate({ search: (before) => changedSearch(before, change), replace: true });
  const open = (modelId: string): void => void navigate({ to: "/models/$modelId", params: { modelId } });
  const create = (
    <Button tone="primary" icon={<Plus size={14} aria-hidden />} onClick={() => setCreating(true)}>
      {text("create")}
    </Button>
  );
  return (
    <Stack>
      <PageHead title={pageText("models")} question={pageText("modelsQuestion")} actions={create} />
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
            { value: "", label: text("all") },
            ...MODEL_KINDS.map((value) => ({ value, label: choiceLabel(value) })),
          ]}
        />
        <SelectField
          label={text("health")}
          value={search.health ?? ""}
          onChange={({ target }) => filter({ health: HEALTH_STATES.find((state) => state === target.value) })}
          choices={[
            { value: "", label: text("all") },
            ...HEALTH_STATES.map((value) => ({ value, label: healthText(value) })),
          ]}
        />
      </Row>
      <Panel isFlush>
        <Loaded state={{ ...models, data: rows }} texts={STATE_TEXTS}>
          {(shown) => (
            <Table
              label={text("list")}
              columns={columns}
              rows={shown}
              rowKey={({ model }) => model.id}
              sort={{ column: search.sort ?? "name", isDescending: search.desc === true }}
              onSort={({ column, isDescending }) =>
                filter({
                  sort: MODEL_SORTS.find((one) => one === column),
                  desc: isDescending ? true : undefined,
                })
              }
              onOpen={({ model }) => open(model.id)}
              empty={
                search.q !== undefined || search.type !== undefined || search.health !== undefined ? (
                  <Empty
                    title={text("noMatch")}
                    action={<Button onClick={() => void navigate({ search: {} })}>{text("clear")}</Button>}
                  >
                    {text("noMatchText")}
                  </Empty>
                ) : (
                  <Empty title={text("empty")}>{text("emptyText")}</Empty>
                )
              }
            />
          )}
        </Loaded>
      </Panel>
      <Suspense fallback={null}>
        {isCreating && <CreateModel onCreated={open} onClose={() => setCreating(false)} />}
      </Suspense>
    </Stack>
  );
}

function columnsOf(cell: string | undefined): readonly Column<ModelRow>[] {
  const runningTitle = cell === undefined ? undefined : text("runningIn", { cell });
  return [
    {
      id: "name",
      head: text("name"),
      isWide: true,
      isSortable: true,
      cell: ({ model }) => (
        <Link to="/models/$modelId" params={{ modelId: model.id }} title={model.model_name}>
          <bdi>{model.model_name}</bdi>
        </Link>
      ),
    },
    { id: "type", head: text("type"), cell: ({ model }) => choiceLabel(model.model_type) },
    {
      id: "health",
      head: text("health"),
      cell: ({ model, endpointsDown }) => (
        <>
          {model.enabled ? <HealthBadge status={shownHealth(model)} /> : <Badge>{text("off")}</Badge>}{" "}
          {endpointsDown > 0 && <Badge tone="warn">{text("endpointsDown", { count: endpointsDown })}</Badge>}
        </>
      ),
    },
    {
      id: "running",
      head: <span title={runningTitle}>{text("running")}</span>,
      align: "right",
      isSortable: true,
      cell: ({ model, running }) =>
        model.max_in_flight === null
          ? formatCount(running)
          : text("runningOf", { running: formatCount(running), max: formatCount(model.max_in_flight) }),
    },
    {
      id: "price",
      head: text("price"),
      align: "right",
      isSortable: true,
      cell: ({ model }) => pricesText(model),
    },
    {
      id: "requests",
      head: text("requests24h"),
      align: "right",
      isSortable: true,
      cell: ({ model, requests }) => (
        <Link {...(pageTarget("/logs", { model: model.model_name }) as LinkProps)}>{formatCount(requests)}</Link>
      ),
    },
    {
      id: "errors",
      head: text("errors24h"),
      align: "right",
      isSortable: true,
      cell: ({ errors }) => formatCount(errors),
    },
    {
      id: "created",
      head: text("created"),
      align: "right",
      isSortable: true,
      cell: ({ model }) => <Age at={model.created_at} />,
    },
  ];
}
