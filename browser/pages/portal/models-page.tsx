import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import type { Records } from "../../data/api.ts";
import { changedSearch } from "../../data/search-params.ts";
import { explainHealth } from "../../explain/explain-health.ts";
import { SearchField } from "../../forms/search-field.tsx";
import { commonText, STATE_TEXTS } from "../../messages/common.ts";
import { pageTexts } from "../../messages/en/pages.ts";
import { portalTexts } from "../../messages/en/portal.ts";
import { texts } from "../../messages/texts.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { formatCount, formatText } from "../../ui/format.ts";
import { PageHead, Panel, Row, Stack } from "../../ui/layout.tsx";
import { sortedRows, sortFrom, sortParam } from "../../ui/sorted.ts";
import { Empty, Loaded } from "../../ui/states.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { mainPriceUsd, priceText } from "./model-price.ts";
import { ownModelsRead } from "./reads.ts";

const text = texts("portal", portalTexts);
const pageText = texts("pages", pageTexts);
const route = getRouteApi("/signed-in/users/portal/models");

type Model = Records["Model"];

/** The models that the own tenant may use, what they can do and cost; not where they run. */
export function PortalModelsPage() {
  const { q, sort: param } = route.useSearch();
  const navigate = useNavigate({ from: "/portal/models" });
  const models = useQuery(ownModelsRead);
  const sort = sortFrom(param, SORTS);
  const rows = useMemo(() => models.data && sortedRows(matching(models.data, q), sort, SORTS), [models.data, q, sort]);
  const change = (changed: { readonly q?: string | undefined; readonly sort?: string }): void =>
    void navigate({ search: (before) => changedSearch(before, changed), replace: true });
  return (
    <Stack>
      <PageHead title={pageText("portalModels")} question={pageText("portalModelsQuestion")} />
      <Row>
        <SearchField
          label={text("filter")}
          value={q ?? ""}
          onSearch={(typed) => change({ q: typed === "" ? undefined : typed })}
        />
      </Row>
      <Panel isFlush>
        <Loaded state={{ ...models, data: rows }} texts={STATE_TEXTS}>
          {(shown) => (
            <Table
              label={text("models")}
              columns={COLUMNS}
              rows={shown}
              rowKey={({ id }) => id}
              sort={sort}
              onSort={(chosen) => change({ sort: sortParam(chosen) })}
              empty={
                q === undefined ? (
                  <Empty title={text("noModels")}>{text("noModelsText")}</Empty>
                ) : (
                  <Empty
                    title={text("noMatch")}
                    action={<Button onClick={() => change({ q: undefined })}>{commonText("clear")}</Button>}
                  >
                    {text("noMatchText")}
                  </Empty>
                )
              }
            />
          )}
        </Loaded>
      </Panel>
    </Stack>
  );
}

function matching(models: readonly Model[], q: string | undefined): readonly Model[] {
  if (q === undefined) return models;
  const wanted = q.toLowerCase();
  return models.filter((model) =>
    [model.model_name, text(`kind_${model.model_type}`), ...model.tags].some((name) =>
      name.toLowerCase().includes(wanted),
    ),
  );
}

/** What a chat model can do, in words. */
function abilities(model: Model): string {
  if (model.model_type !== "chat") return "";
  return [
    model.supports_vision && text("can_vision"),
    model.supports_function_calling && text("can_tools"),
    model.supports_response_schema && text("can_json"),
    model.supports_system_messages && text("can_system"),
  ]
    .filter((ability) => ability !== false)
    .join(", ");
}

function State({ enabled, health_status: status }: Pick<Model, "enabled" | "health_status">) {
  if (!enabled) return <Badge>{text("off")}</Badge>;
  const { tone, title } = explainHealth({ status, consecutive_failures: 0, maintenance_until: null }, "UTC", 0);
  return <Badge tone={tone}>{title}</Badge>;
}

const SORTS = {
  name: ({ model_name }: Model) => model_name,
  kind: ({ model_type }: Model) => text(`kind_${model_type}`),
  context: ({ context_window }: Model) => context_window,
  price: mainPriceUsd,
};
const COLUMNS: readonly Column<Model>[] = [
  {
    id: "name",
    head: text("model"),
    isWide: true,
    isSortable: true,
    cell: ({ model_name, description }) => (
      <bdi title={description === "" ? model_name : `${model_name}: ${description}`}>{model_name}</bdi>
    ),
  },
  { id: "kind", head: text("kind"), isSortable: true, cell: ({ model_type }) => text(`kind_${model_type}`) },
  { id: "can", head: text("can"), cell: (model) => formatText(abilities(model)) },
  {
    id: "context",
    head: text("context"),
    align: "right",
    isSortable: true,
    cell: ({ context_window }) => formatCount(context_window > 0 ? context_window : null),
  },
  {
    id: "price",
    head: text("price"),
    align: "right",
    isSortable: true,
    cell: (model) => priceText(model) ?? <span title={text("noPrice")}>{formatText(null)}</span>,
  },
  { id: "state", head: text("state"), cell: (model) => <State {...model} /> },
  {
    id: "use",
    head: text("use"),
    cell: ({ model_name, model_type, enabled }) =>
      enabled &&
      model_type === "chat" && (
        <Link to="/portal/guide" search={{ model: model_name }}>
          {text("guideLink")}
        </Link>
      ),
  },
];
