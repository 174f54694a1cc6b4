import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import type { Records } from "../../data/api.ts";
import { changedSearch } from "../../data/search-params.ts";
import { useList } from "../../data/use-list.ts";
import { ListTable } from "../../forms/list/list-table.tsx";
import { type ListColumn, useListView } from "../../forms/list/use-list-view.tsx";
import { choiceLabel } from "../../forms/record/field-words.ts";
import { SearchField } from "../../forms/search-field.tsx";
import { commonText } from "../../messages/common.ts";
import { pageTexts } from "../../messages/en/pages.ts";
import { pricesTexts } from "../../messages/en/prices.ts";
import { texts } from "../../messages/texts.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { formatShare } from "../../ui/format.ts";
import { PageHead, Row, Stack } from "../../ui/layout.tsx";
import { Empty } from "../../ui/states.tsx";
import { batchFactor, PRICE_COLUMNS, priceCell, priceOf } from "./price-columns.ts";

const text = texts("prices", pricesTexts);
const pageText = texts("pages", pageTexts);
const route = getRouteApi("/signed-in/admin/prices");
const EVERY_MS = 60_000;

type Model = Records["Model"];

/** What the tokens, images and minutes of every model cost, side by side. */
export function PricesPage() {
  const { q } = route.useSearch();
  const navigate = useNavigate({ from: "/prices" });
  const models = useList<Model>("/api/v1/models", { q }, { everyMs: EVERY_MS, readsAll: true });
  const { data } = models;
  const columns = useMemo(() => COLUMNS.filter(({ id }) => data === undefined || !isUnpriced(id, data)), [data]);
  const view = useListView({
    rows: data,
    columns,
    usual: { column: "model", isDescending: false },
    file: "prices",
  });
  const search = (typed: string | undefined): void =>
    void navigate({ search: (before) => changedSearch(before, { q: typed }), replace: true });
  return (
    <Stack>
      <PageHead
        title={pageText("prices")}
        question={pageText("pricesQuestion")}
        actions={
          <>
            {view.choice}
            <Link to="/models">{pageText("models")}</Link>
          </>
        }
      />
      <Row>
        <SearchField
          label={text("filter")}
          value={q ?? ""}
          onSearch={(typed) => search(typed === "" ? undefined : typed)}
        />
      </Row>
      <ListTable
        state={models}
        view={view}
        note={text("note")}
        title={text("title")}
        label={text("title")}
        rowKey={({ id }) => id}
        empty={
          q === undefined ? (
            <Empty title={text("empty")} action={<Link to="/models">{text("toModels")}</Link>}>
              {text("emptyText")}
            </Empty>
          ) : (
            <Empty
              title={text("noMatch")}
              action={<Button onClick={() => search(undefined)}>{commonText("clear")}</Button>}
            >
              {text("noMatchText")}
            </Empty>
          )
        }
      />
    </Stack>
  );
}

/** Whether the column is one of prices, and no model has this one. */
function isUnpriced(id: string, models: readonly Model[]): boolean {
  const column = PRICE_COLUMNS.find((one) => one.id === id);
  return column !== undefined && models.length > 0 && models.every((model) => priceOf(model, column) === null);
}

const COLUMNS: readonly ListColumn<Model>[] = [
  {
    id: "model",
    head: text("model"),
    isWide: true,
    sortBy: ({ model_name }) => model_name,
    cell: ({ id, model_name }) => (
      <Link to="/models/$modelId" params={{ modelId: id }} search={{ tab: "edit" }} title={model_name}>
        <bdi>{model_name}</bdi>
      </Link>
    ),
  },
  {
    id: "type",
    head: text("type"),
    sortBy: ({ model_type }) => choiceLabel(model_type),
    cell: ({ model_type, enabled }) => (
      <>
        {choiceLabel(model_type)} {!enabled && <Badge>{text("off")}</Badge>}
      </>
    ),
  },
  ...PRICE_COLUMNS.map(
    (column): ListColumn<Model> => ({
      id: column.id,
      head: text(column.id),
      align: "right",
      unit: "USD",
      ...(column.isExtra === true ? { isExtra: true } : {}),
      sortBy: (model) => priceOf(model, column),
      cell: (model) => {
        const { said, why } = priceCell(model, column);
        return why === null ? said : <small title={text(why)}>{said}</small>;
      },
    }),
  ),
  {
    id: "batch",
    head: text("batch"),
    align: "right",
    sortBy: batchFactor,
    cell: (model) => formatShare(batchFactor(model)),
  },
];
