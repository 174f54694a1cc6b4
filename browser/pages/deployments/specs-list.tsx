import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import type { Records } from "../../data/api.ts";
import { changedSearch } from "../../data/search-params.ts";
import { useList } from "../../data/use-list.ts";
import { CsvLink } from "../../forms/list/csv-link.tsx";
import { ListTable } from "../../forms/list/list-table.tsx";
import { type ListColumn, useListView } from "../../forms/list/use-list-view.tsx";
import { SearchField } from "../../forms/search-field.tsx";
import { commonText } from "../../messages/common.ts";
import { deploymentTexts } from "../../messages/en/deployments.ts";
import { texts } from "../../messages/texts.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { SelectField } from "../../ui/fields.tsx";
import { formatCount } from "../../ui/format.ts";
import { Row, Stack } from "../../ui/layout.tsx";
import { Empty } from "../../ui/states.tsx";
import { matchingSpecs } from "./matching-specs.ts";
import { SPEC_STATES, SPEC_TONES, specState } from "./spec-state.ts";

const text = texts("deployments", deploymentTexts);
const route = getRouteApi("/signed-in/admin/deployments");
const EVERY_MS = 5000;

type Spec = Records["ManagedModel"];

/** The managed models; search, state and order are in the address. */
export function SpecsList() {
  const search = route.useSearch();
  const navigate = useNavigate({ from: "/deployments" });
  const specs = useList<Spec>("/api/v1/managed", {}, { everyMs: EVERY_MS, readsAll: true });
  const { q = "", state } = search;
  const rows = useMemo(() => specs.data && matchingSpecs(specs.data, { q, state }), [specs.data, q, state]);
  const view = useListView({ rows, columns: COLUMNS, usual: { column: "name", isDescending: false } });
  const filter = (change: Parameters<typeof changedSearch<typeof search>>[1]): void =>
    void navigate({ search: (before) => changedSearch(before, change), replace: true });
  return (
    <Stack>
      <Row>
        <SearchField label={text("filter")} value={q} onSearch={(typed) => filter({ q: typed || undefined })} />
        <SelectField
          label={text("state")}
          value={state ?? ""}
          onChange={({ target }) => filter({ state: SPEC_STATES.find((one) => one === target.value) })}
          choices={[
            { value: "", label: text("stateAll") },
            ...SPEC_STATES.map((value) => ({ value, label: text(`state_${value}`) })),
          ]}
        />
      </Row>
      <ListTable
        state={specs}
        view={view}
        actions={
          <>
            {view.choice}
            <CsvLink path="/api/v1/managed" title={text("specsCsv")} />
          </>
        }
        title={text("models")}
        label={text("models")}
        rowKey={({ model_id }) => model_id}
        onOpen={({ model_id }) => void navigate({ to: "/deployments/$modelId", params: { modelId: model_id } })}
        empty={
          q === "" && state === undefined ? (
            <Empty title={text("empty")} action={<Link to="/deployments/new">{text("newFirst")}</Link>}>
              {text("emptyText")}
            </Empty>
          ) : (
            <Empty
              title={text("noMatch")}
              action={
                <Button onClick={() => filter({ q: undefined, state: undefined })}>{commonText("clearFilters")}</Button>
              }
            />
          )
        }
      />
    </Stack>
  );
}

const COLUMNS: readonly ListColumn<Spec>[] = [
  {
    id: "name",
    head: text("model"),
    isWide: true,
    sortBy: ({ model_name }) => model_name,
    cell: ({ model_id, model_name }) => (
      <Link to="/deployments/$modelId" params={{ modelId: model_id }} title={model_name}>
        <bdi>{model_name}</bdi>
      </Link>
    ),
  },
  {
    id: "state",
    head: text("state"),
    sortBy: (spec) => text(`state_${specState(spec)}`),
    cell: (spec) => {
      const state = specState(spec);
      return <Badge tone={SPEC_TONES[state]}>{text(`state_${state}`)}</Badge>;
    },
  },
  {
    id: "target",
    head: text("target"),
    align: "right",
    sortBy: ({ target_replicas }) => target_replicas,
    cell: ({ target_replicas }) => formatCount(target_replicas),
  },
  {
    id: "healthy",
    head: text("healthy"),
    align: "right",
    sortBy: ({ replicas: { healthy = 0 } }) => healthy,
    cell: ({ replicas: { healthy = 0 } }) => formatCount(healthy),
  },
  {
    id: "starting",
    head: text("starting"),
    align: "right",
    sortBy: ({ replicas: { pending = 0, starting = 0 } }) => pending + starting,
    cell: ({ replicas: { pending = 0, starting = 0 } }) => formatCount(pending + starting),
  },
  {
    id: "draining",
    isOftenEmpty: true,
    head: text("draining"),
    align: "right",
    sortBy: ({ replicas: { draining = 0 } }) => draining,
    cell: ({ replicas: { draining = 0 } }) => formatCount(draining),
  },
  {
    id: "lost",
    isOftenEmpty: true,
    head: text("lost"),
    align: "right",
    sortBy: ({ replicas: { lost = 0 } }) => lost,
    cell: ({ replicas: { lost = 0 } }) => formatCount(lost),
  },
  {
    id: "resources",
    head: text("resources"),
    isWide: true,
    cell: ({ partition, nodes, gres }) => {
      const said = text(gres === "" ? "resourcesOf" : "resourcesWith", { partition, nodes, gres });
      return <span title={said}>{said}</span>;
    },
  },
  {
    id: "error",
    isOftenEmpty: true,
    head: text("lastError"),
    isWide: true,
    sortBy: ({ provision_error }) => provision_error,
    cell: ({ provision_error: error }) => (error === null ? "" : <bdi title={error}>{error}</bdi>),
  },
];
