import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { lazy, Suspense, useMemo, useState } from "react";
import type { Records } from "../../data/api.ts";
import { changedSearch } from "../../data/search-params.ts";
import { useList } from "../../data/use-list.ts";
import { CsvLink } from "../../forms/list/csv-link.tsx";
import { ListTable } from "../../forms/list/list-table.tsx";
import { type ListColumn, useListView } from "../../forms/list/use-list-view.tsx";
import { SearchField } from "../../forms/search-field.tsx";
import { mcpTexts } from "../../messages/en/mcp.ts";
import { pageTexts } from "../../messages/en/pages.ts";
import { texts } from "../../messages/texts.ts";
import { serverTimeOf } from "../../time/server-time.ts";
import { Age } from "../../time/use-clock.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { PageHead, Row, Stack } from "../../ui/layout.tsx";
import { Empty } from "../../ui/states.tsx";
import { matchingServers } from "./server-rows.ts";
import { trialOf } from "./server-trial.ts";

const text = texts("mcp", mcpTexts);
const pageText = texts("pages", pageTexts);
const route = getRouteApi("/signed-in/admin/mcp");
const ServerDialog = lazy(async () => ({ default: (await import("./server-dialog.tsx")).ServerDialog }));
const EVERY_MS = 20_000;

type Server = Records["McpServer"];

/** The registered MCP servers, and the one that is open beside them. */
export function McpPage() {
  const search = route.useSearch();
  const navigate = useNavigate({ from: "/mcp" });
  const [isCreating, setCreating] = useState(false);
  const servers = useList<Server>("/api/v1/mcp-servers", {}, { everyMs: EVERY_MS, readsAll: true });
  const rows = useMemo(() => servers.data && matchingServers(servers.data, search.q), [servers.data, search.q]);
  const view = useListView({ rows, columns: COLUMNS, usual: { column: "name", isDescending: false } });
  const change = (changed: Parameters<typeof changedSearch<typeof search>>[1], isStep = false): void =>
    void navigate({ search: (before) => changedSearch(before, changed), replace: !isStep });
  return (
    <Stack>
      <PageHead
        title={pageText("mcp")}
        question={pageText("mcpQuestion")}
        actions={
          <>
            {view.choice}
            <CsvLink path="/api/v1/mcp-servers" title={text("csvHint")} />
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
          onSearch={(q) => change({ q: q === "" ? undefined : q })}
        />
      </Row>
      <ListTable
        state={servers}
        view={view}
        label={text("list")}
        rowKey={({ id }) => id}
        onOpen={({ id }) => change({ server_id: id }, true)}
        openKey={search.server_id}
        empty={
          search.q === undefined ? (
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
          ) : (
            <Empty
              title={text("noMatch")}
              action={<Button onClick={() => change({ q: undefined })}>{text("clear")}</Button>}
            />
          )
        }
      />
      <Suspense fallback={null}>
        {(isCreating || search.server_id !== undefined) && (
          <ServerDialog
            serverId={isCreating ? null : (search.server_id ?? null)}
            onClose={() => (isCreating ? setCreating(false) : change({ server_id: undefined }, true))}
            onCreated={(id) => {
              setCreating(false);
              change({ server_id: id }, true);
            }}
          />
        )}
      </Suspense>
    </Stack>
  );
}

const COLUMNS: readonly ListColumn<Server>[] = [
  {
    id: "name",
    head: text("name"),
    isWide: true,
    sortBy: ({ name }) => name,
    cell: ({ name }) => <bdi title={name}>{name}</bdi>,
  },
  {
    id: "address",
    head: text("address"),
    isWide: true,
    sortBy: ({ upstream_url }) => upstream_url,
    cell: ({ upstream_url }) => <span title={upstream_url}>{upstream_url}</span>,
  },
  {
    id: "credential",
    head: text("credential"),
    cell: ({ auth_header_set }) => text(auth_header_set ? "credentialSet" : "credentialNone"),
  },
  {
    id: "state",
    head: text("state"),
    sortBy: ({ enabled }) => Number(enabled),
    cell: ({ enabled }) => <StateBadge isEnabled={enabled} />,
  },
  {
    id: "tested",
    head: <span title={text("testedNote")}>{text("tested")}</span>,
    cell: ({ id }) => <LastTest id={id} />,
  },
  {
    id: "created",
    head: text("created"),
    sortBy: ({ created_at }) => created_at,
    cell: ({ created_at }) => <Age at={created_at} />,
  },
];

function StateBadge({ isEnabled }: { readonly isEnabled: boolean }) {
  return <Badge tone={isEnabled ? "good" : "neutral"}>{text(isEnabled ? "enabled" : "disabled")}</Badge>;
}

function LastTest({ id }: { readonly id: string }) {
  const { data, dataUpdatedAt } = useQuery(trialOf(id));
  if (data === undefined) return <Age at={null} />;
  return (
    <>
      <Badge tone={data.ok ? "good" : "bad"}>
        {data.ok ? text("good", { count: data.tools.length }) : (data.error ?? "")}
      </Badge>{" "}
      <Age at={serverTimeOf(dataUpdatedAt)} />
    </>
  );
}
