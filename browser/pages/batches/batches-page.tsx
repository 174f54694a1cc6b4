import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useMemo, useState } from "react";
import { api, type Records } from "../../data/api.ts";
import { useCurrentUser } from "../../data/current-user.ts";
import { read } from "../../data/reads.ts";
import { callAsTenant } from "../../data/relay.ts";
import { changedSearch } from "../../data/search-params.ts";
import { useList } from "../../data/use-list.ts";
import { ListTable } from "../../forms/list/list-table.tsx";
import { type ListColumn, useListView } from "../../forms/list/use-list-view.tsx";
import { DeleteButton } from "../../forms/record/delete-button.tsx";
import { SearchField } from "../../forms/search-field.tsx";
import { batchesTexts } from "../../messages/en/batches.ts";
import { pageTexts } from "../../messages/en/pages.ts";
import { texts } from "../../messages/texts.ts";
import { Age } from "../../time/use-clock.tsx";
import { Button } from "../../ui/button.tsx";
import { SelectField } from "../../ui/fields.tsx";
import { formatCount, formatShare } from "../../ui/format.ts";
import { Filters, PageHead, Stack } from "../../ui/layout.tsx";
import { Empty } from "../../ui/states.tsx";
import { BatchBadge, BatchPanel } from "./batch-panel.tsx";
import { BatchResults, causeOf } from "./batch-results.tsx";
import { canCancel, doneShare } from "./batch-states.ts";
import { BATCH_STATUSES } from "./batches-search.ts";
import { CreateBatch } from "./create-batch.tsx";

const text = texts("batches", batchesTexts);
const pageText = texts("pages", pageTexts);
const route = getRouteApi("/signed-in/batches");
const EVERY_MS = 3000;

type Batch = Records["Batch"];

/** Batches and their progress: of all tenants for admins, of the own one for others. */
export function BatchesPage() {
  const search = route.useSearch();
  const navigate = useNavigate({ from: "/batches" });
  const { role, tenant_id: own } = useCurrentUser();
  const isAdmin = role === "admin";
  const batches = useList<Batch>(
    "/api/v1/batches",
    { tenant_id: isAdmin ? undefined : (own ?? undefined), status: search.status, q: search.q },
    { everyMs: EVERY_MS },
  );
  const live = useQuery(read("/api/v1/fairshare/live", {}, { everyMs: EVERY_MS, enabled: isAdmin })).data;
  const init = { params: { path: { id: own ?? "" } } };
  const load = useQuery(
    read("/api/v1/tenants/{id}/load", init, { everyMs: EVERY_MS, enabled: !isAdmin && own !== null }),
  ).data;
  const isWaiting =
    live === undefined ? load?.batches_wait === true : live.batch_queued > 0 && live.batch_in_flight === 0;
  const columns = useMemo(
    () => columnsOf(isWaiting).filter(({ id }) => isAdmin || id !== "tenant"),
    [isWaiting, isAdmin],
  );
  const view = useListView({ rows: batches.data, columns });
  const opened = batches.data?.find(({ batch_id }) => batch_id === search.batch);
  const change = (changed: Parameters<typeof changedSearch<typeof search>>[1]): void =>
    void navigate({ search: (before) => changedSearch(before, changed), replace: true });
  const [isCreating, setCreating] = useState(false);
  const isFiltered = search.q !== undefined || search.status !== undefined;
  return (
    <Stack>
      <PageHead
        title={pageText("batches")}
        question={pageText("batchesQuestion")}
        actions={
          <>
            {view.choice}
            <Button writes tone="primary" icon={<Plus size={14} aria-hidden />} onClick={() => setCreating(true)}>
              {text("create")}
            </Button>
          </>
        }
      />
      {isCreating && <CreateBatch onClose={() => setCreating(false)} />}
      <Filters>
        <SearchField
          label={text("filter")}
          value={search.q ?? ""}
          onSearch={(q) => change({ q: q === "" ? undefined : q })}
        />
        <SelectField
          label={text("state")}
          choices={[
            { value: "", label: text("allStates") },
            ...BATCH_STATUSES.map((status) => ({ value: status, label: text(status) })),
          ]}
          value={search.status ?? ""}
          onChange={({ target }) => change({ status: BATCH_STATUSES.find((status) => status === target.value) })}
        />
      </Filters>
      <ListTable
        state={batches}
        view={view}
        label={text("list")}
        rowKey={({ batch_id }) => batch_id}
        onOpen={({ batch_id }) => change({ batch: batch_id })}
        openKey={search.batch}
        empty={
          isFiltered ? (
            <Empty
              title={text("noMatch")}
              action={<Button onClick={() => change({ q: undefined, status: undefined })}>{text("clear")}</Button>}
            />
          ) : (
            <Empty
              title={text("empty")}
              action={
                role === "user" && (
                  <Link to="/portal/guide" search={{ route: "batches" }}>
                    {text("toGuide")}
                  </Link>
                )
              }
            >
              {text("emptyText")}
            </Empty>
          )
        }
      />
      {opened !== undefined && (
        <BatchPanel batch={opened} isWaiting={isWaiting} onClose={() => change({ batch: undefined })} />
      )}
    </Stack>
  );
}

const columnsOf = (isWaiting: boolean): readonly ListColumn<Batch>[] => [
  {
    id: "batch",
    head: text("batch"),
    isWide: true,
    cell: ({ batch_id, input_filename: name }) => (
      <>
        {name && <bdi>{name}</bdi>} <code>{batch_id}</code>
      </>
    ),
  },
  { id: "tenant", head: text("tenant"), isWide: true, cell: ({ tenant_name }) => <bdi>{tenant_name}</bdi> },
  { id: "endpoint", head: text("endpoint"), cell: ({ endpoint }) => endpoint },
  {
    id: "state",
    head: text("state"),
    cell: (batch) => <BatchBadge batch={batch} isWaiting={isWaiting} />,
  },
  { id: "progress", head: text("progress"), cell: (batch) => <Progress batch={batch} /> },
  { id: "results", head: text("results"), cell: (batch) => <BatchResults batch={batch} why={causeOf(batch)} /> },
  { id: "created", head: text("created"), cell: ({ created_at }) => <Age at={created_at} /> },
  {
    id: "actions",
    head: "",
    name: text("cancel"),
    align: "right",
    cell: (batch) => canCancel(batch) && <Cancel batch={batch} />,
  },
];

function Progress({ batch }: { readonly batch: Batch }) {
  const share = doneShare(batch);
  if (share === null) return null;
  const done = formatCount(batch.lines_completed + batch.lines_failed);
  return (
    <span title={formatShare(share)}>
      <progress value={share} aria-label={text("progress")} />{" "}
      {text("progressOf", { done, total: formatCount(batch.lines_total) })}
      {batch.lines_failed > 0 && text("someFailed", { failed: formatCount(batch.lines_failed) })}
    </span>
  );
}

function Cancel({ batch: { id, batch_id, tenant_id } }: { readonly batch: Batch }) {
  const { role } = useCurrentUser();
  return (
    <DeleteButton
      label={text("cancel")}
      cancelLabel={text("keep")}
      title={text("cancelTitle")}
      send={async () =>
        role === "admin"
          ? await api.POST("/api/v1/batches/{id}/cancel", { params: { path: { id } } })
          : { response: await callAsTenant(tenant_id, `/batches/${batch_id}/cancel`, { method: "POST" }) }
      }
      touches={["/api/v1/batches"]}
      done={text("cancelDone")}
      failed={text("cancelFailed", { id: batch_id })}
    >
      {text("cancelText")}
    </DeleteButton>
  );
}
