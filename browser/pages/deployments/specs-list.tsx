import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import type { Records } from "../../data/api.ts";
import { changedSearch } from "../../data/search-params.ts";
import { SearchField } from "../../forms/search-field.tsx";
import { STATE_TEXTS } from "../../messages/common.ts";
import { deploymentTexts } from "../../messages/en/deployments.ts";
import { texts } from "../../messages/texts.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { SelectField } from "../../ui/fields.tsx";
import { formatCount } from "../../ui/format.ts";
import { Panel, Row, Stack } from "../../ui/layout.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { SORTS } from "./deployments-search.ts";
import { listedSpecs } from "./listed-specs.ts";
import { SPEC_STATES, SPEC_TONES, specState } from "./spec-state.ts";
import { useWholeList } from "./use-whole-list.ts";

const text = texts("deployments", deploymentTexts);
const route = getRouteApi("/signed-in/admin/deployments");
const stateTexts = { ...STATE_TEXTS, failed: text("listFailed") };
const EVERY_MS = 5000;

type Spec = Records["ManagedModel"];

/** The managed models; search, state and order are in the address. */
export function SpecsList() {
  const search = route.useSearch();
  const navigate = useNavigate({ from: "/deployments" });
  const specs = useWholeList<Spec>("/api/v1/managed", {}, EVERY_MS);
  const { q = "", state, sort = "name", descending } = search;
  const rows = useMemo(
    () => specs.data && listedSpecs(specs.data, { q, state, sort, isDescending: descending === true }),
    [specs.data, q, state, sort, descending],
  );
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
      <Panel isFlush>
        <Loaded state={{ ...specs, data: rows }} texts={stateTexts}>
          {(shown) => (
            <Table
              label={text("models")}
              columns={COLUMNS}
              rows={shown}
              rowKey={({ model_id }) => model_id}
              sort={{ column: sort, isDescending: descending === true }}
              onSort={({ column, isDescending }) =>
                filter({ sort: SORTS.find((one) => one === column), descending: isDescending ? true : undefined })
              }
              onOpen={({ model_id }) => void navigate({ to: "/deployments/$modelId", params: { modelId: model_id } })}
              empty={
                q === "" && state === undefined ? (
                  <Empty title={text("empty")}>{text("emptyText")}</Empty>
                ) : (
                  <Empty
                    title={text("noMatch")}
                    action={<Button onClick={() => filter({ q: undefined, state: undefined })}>{text("clear")}</Button>}
                  />
                )
              }
            />
          )}
        </Loaded>
      </Panel>
    </Stack>
  );
}

const COLUMNS: readonly Column<Spec>[] = [
  {
    id: "name",
    head: text("model"),
    isWide: true,
    isSortable: true,
    cell: ({ model_id, model_name }) => (
      <Link to="/deployments/$modelId" params={{ modelId: model_id }} title={model_name}>
        <bdi>{model_name}</bdi>
      </Link>
    ),
  },
  {
    id: "state",
    head: text("state"),
    cell: (spec) => {
      const state = specState(spec);
      return <Badge tone={SPEC_TONES[state]}>{text(`state_${state}`)}</Badge>;
    },
  },
  {
    id: "target",
    head: text("target"),
    align: "right",
    isSortable: true,
    cell: ({ target_replicas }) => formatCount(target_replicas),
  },
  {
    id: "healthy",
    head: text("healthy"),
    align: "right",
    isSortable: true,
    cell: ({ replicas: { healthy = 0 } }) => formatCount(healthy),
  },
  {
    id: "starting",
    head: text("starting"),
    align: "right",
    cell: ({ replicas: { pending = 0, starting = 0 } }) => formatCount(pending + starting),
  },
  {
    id: "draining",
    head: text("draining"),
    align: "right",
    cell: ({ replicas: { draining = 0 } }) => formatCount(draining),
  },
  {
    id: "lost",
    head: text("lost"),
    align: "right",
    isSortable: true,
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
    head: text("lastError"),
    isWide: true,
    cell: ({ provision_error: error }) => (error === null ? "" : <bdi title={error}>{error}</bdi>),
  },
];
