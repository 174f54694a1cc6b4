import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { lazy, Suspense, useCallback, useMemo, useState } from "react";
import type { Records } from "../../data/api.ts";
import { readPages } from "../../data/reads.ts";
import { changedSearch } from "../../data/search-params.ts";
import { SearchField } from "../../forms/search-field.tsx";
import { STATE_TEXTS } from "../../messages/common.ts";
import { mcpTexts } from "../../messages/en/mcp.ts";
import { pageTexts } from "../../messages/en/pages.ts";
import { texts } from "../../messages/texts.ts";
import { Age } from "../../time/use-clock.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { PageHead, Panel, Row, Stack } from "../../ui/layout.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { MCP_ORDERS } from "./mcp-search.ts";
import { serverRows } from "./server-rows.ts";
import { trialOf } from "./server-trial.ts";

const text = texts("mcp", mcpTexts);
const pageText = texts("pages", pageTexts);
const route = getRouteApi("/signed-in/admin/mcp");
const ServerDialog = lazy(async () => ({ default: (await import("./server-dialog.tsx")).ServerDialog }));
const EVERY_MS = 20_000;
const PAGE_ROWS = "1000";

type Server = Records["McpServer"];

/** The registered MCP servers, and the one that is open beside them. */
export function McpPage() {
  const search = route.useSearch();
  const navigate = useNavigate({ from: "/mcp" });
  const [isCreating, setCreating] = useState(false);
  const servers = useInfiniteQuery(
    readPages<Server>("/api/v1/mcp-servers", { limit: PAGE_ROWS }, { everyMs: EVERY_MS }),
  );
  const all = useMemo(() => servers.data?.pages.flatMap((page) => page.rows), [servers.data]);
  const rows = useMemo(() => all && serverRows(all, search), [all, search]);
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = servers;
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  const change = (changed: Parameters<typeof changedSearch<typeof search>>[1], isStep = false): void =>
    void navigate({ search: (before) => changedSearch(before, changed), replace: !isStep });
  const create = (
    <Button tone="primary" icon={<Plus size={14} aria-hidden />} onClick={() => setCreating(true)}>
      {text("create")}
    </Button>
  );
  return (
    <Stack>
      <PageHead title={pageText("mcp")} question={pageText("mcpQuestion")} />
      <Row>
        <SearchField
          label={text("filter")}
          value={search.q ?? ""}
          onSearch={(q) => change({ q: q === "" ? undefined : q })}
        />
        {create}
      </Row>
      <Panel isFlush>
        <Loaded state={{ ...servers, data: rows }} texts={STATE_TEXTS}>
          {(shown) => (
            <Table
              label={text("list")}
              columns={COLUMNS}
              rows={shown}
              rowKey={({ id }) => id}
              sort={{ column: search.order ?? "name", isDescending: search.descending === "true" }}
              onSort={({ column, isDescending }) =>
                change({
                  order: MCP_ORDERS.find((one) => one === column),
                  descending: isDescending ? "true" : "false",
                })
              }
              onOpen={({ id }) => change({ server_id: id }, true)}
              openKey={search.server_id}
              onEnd={onEnd}
              empty={
                search.q === undefined ? (
                  <Empty title={text("empty")}>{text("emptyText")}</Empty>
                ) : (
                  <Empty
                    title={text("noMatch")}
                    action={<Button onClick={() => change({ q: undefined })}>{text("clear")}</Button>}
                  />
                )
              }
            />
          )}
        </Loaded>
      </Panel>
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

const COLUMNS: readonly Column<Server>[] = [
  {
    id: "name",
    head: text("name"),
    isSortable: true,
    isWide: true,
    cell: ({ name }) => <bdi title={name}>{name}</bdi>,
  },
  {
    id: "address",
    head: text("address"),
    isWide: true,
    cell: ({ upstream_url }) => <span title={upstream_url}>{upstream_url}</span>,
  },
  {
    id: "credential",
    head: text("credential"),
    cell: ({ auth_header_set }) => text(auth_header_set ? "credentialSet" : "credentialNone"),
  },
  { id: "state", head: text("state"), cell: ({ enabled }) => <StateBadge isEnabled={enabled} /> },
  {
    id: "tested",
    head: <span title={text("testedNote")}>{text("tested")}</span>,
    cell: ({ id }) => <LastTest id={id} />,
  },
  { id: "created", head: text("created"), isSortable: true, cell: ({ created_at }) => <Age at={created_at} /> },
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
      <Age at={dataUpdatedAt} />
    </>
  );
}
