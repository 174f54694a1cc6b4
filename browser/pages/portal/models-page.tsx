import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import type { Records } from "../../data/api.ts";
import { changedSearch } from "../../data/search-params.ts";
import { explainHealth } from "../../explain/explain-health.ts";
import { CsvLink } from "../../forms/list/csv-link.tsx";
import { ListTable } from "../../forms/list/list-table.tsx";
import { type ListColumn, useListView } from "../../forms/list/use-list-view.tsx";
import { SearchField } from "../../forms/search-field.tsx";
import { commonText } from "../../messages/common.ts";
import { pageTexts } from "../../messages/en/pages.ts";
import { portalTexts } from "../../messages/en/portal.ts";
import { texts } from "../../messages/texts.ts";
import { useNow } from "../../time/use-clock.tsx";
import { useZone } from "../../time/zone-context.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Beside } from "../../ui/beside.tsx";
import { Button } from "../../ui/button.tsx";
import { formatCount, formatText } from "../../ui/format.ts";
import { PageHead, Row, Stack } from "../../ui/layout.tsx";
import { Empty } from "../../ui/states.tsx";
import { ModelPanel } from "./model-panel.tsx";
import { mainPriceUsd, priceText } from "./model-price.ts";
import { ownModelsRead } from "./reads.ts";

const text = texts("portal", portalTexts);
const pageText = texts("pages", pageTexts);
const route = getRouteApi("/signed-in/users/portal/models");

type Model = Records["Model"];

const MINUTE_MS = 60_000;

/** The models that the own tenant may use, what they can do and cost; not where they run. */
export function PortalModelsPage() {
  const { q, open } = route.useSearch();
  const navigate = useNavigate({ from: "/portal/models" });
  const models = useQuery(ownModelsRead);
  const rows = useMemo(() => models.data && matching(models.data, q), [models.data, q]);
  const view = useListView({ rows, columns: COLUMNS });
  const opened = models.data?.find(({ id }) => id === open);
  const change = (changed: { readonly q?: string | undefined; readonly open?: string | undefined }): void =>
    void navigate({ search: (before) => changedSearch(before, changed), replace: true });
  return (
    <Stack>
      <PageHead
        title={pageText("portalModels")}
        question={pageText("portalModelsQuestion")}
        actions={
          <>
            {view.choice}
            <CsvLink path="/api/v1/models" title={text("modelsCsv")} />
          </>
        }
      />
      <Row>
        <SearchField
          label={text("filter")}
          value={q ?? ""}
          onSearch={(typed) => change({ q: typed === "" ? undefined : typed })}
        />
      </Row>
      <Beside
        detail={
          opened === undefined
            ? null
            : { title: <bdi>{opened.model_name}</bdi>, content: <ModelPanel model={opened} /> }
        }
        label={text("model")}
        onClose={() => change({ open: undefined })}
      >
        <ListTable
          state={models}
          view={view}
          onOpen={({ id }) => change({ open: id })}
          openKey={opened?.id}
          label={text("models")}
          rowKey={({ id }) => id}
          empty={
            q === undefined ? (
              <Empty title={text("noModels")}>{text("noModelsText")}</Empty>
            ) : (
              <Empty
                title={text("noMatch")}
                action={<Button onClick={() => change({ q: undefined })}>{commonText("clear")}</Button>}
              />
            )
          }
        />
      </Beside>
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
  ]
    .filter((ability) => ability !== false)
    .join(", ");
}

function State({ enabled, health_status: status, maintenance_until }: Model) {
  const nowMs = useNow(MINUTE_MS);
  const { zone } = useZone();
  if (!enabled) return <Badge>{text("off")}</Badge>;
  const { tone, title, sentence } = explainHealth({ status, consecutive_failures: 0, maintenance_until }, zone, nowMs);
  return maintenance_until === null ? (
    <Badge tone={tone}>{title}</Badge>
  ) : (
    <span title={sentence}>
      <Badge tone={tone}>{title}</Badge>
    </span>
  );
}

const COLUMNS: readonly ListColumn<Model>[] = [
  {
    id: "name",
    head: text("model"),
    isWide: true,
    sortBy: ({ model_name }) => model_name,
    cell: ({ id, model_name, description }) => (
      <Link
        from="/portal/models"
        to="/portal/models"
        search={(before) => ({ ...before, open: id })}
        title={description === "" ? model_name : `${model_name}: ${description}`}
      >
        <bdi>{model_name}</bdi>
      </Link>
    ),
  },
  { id: "state", head: text("state"), cell: (model) => <State {...model} /> },
  {
    id: "price",
    head: text("price"),
    align: "right",
    sortBy: mainPriceUsd,
    cell: (model) => priceText(model) ?? text("noPrice"),
  },
  {
    id: "kind",
    head: text("kind"),
    sortBy: ({ model_type }) => text(`kind_${model_type}`),
    cell: ({ model_type }) => text(`kind_${model_type}`),
  },
  {
    id: "can",
    head: text("can"),
    isOftenEmpty: true,
    sortBy: abilities,
    cell: (model) => formatText(abilities(model)),
  },
  {
    id: "context",
    head: text("context"),
    align: "right",
    sortBy: ({ context_window }) => (context_window > 0 ? context_window : null),
    cell: ({ context_window }) => formatCount(context_window > 0 ? context_window : null),
  },
];
