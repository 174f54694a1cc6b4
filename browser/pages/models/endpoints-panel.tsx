import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { GripVertical, Plus } from "lucide-react";
import { type DragEvent, type KeyboardEvent, lazy, Suspense, useEffect, useMemo, useRef, useState } from "react";
import type { Records } from "../../data/api.ts";
import { api } from "../../data/api.ts";
import { changedSearch } from "../../data/search-params.ts";
import { healthWord } from "../../explain/explain-health.ts";
import { type ListColumn, useListView } from "../../forms/list/use-list-view.tsx";
import { type Answered, useAnnouncedWrite } from "../../forms/record/use-announced-write.ts";
import { commonText } from "../../messages/common.ts";
import { modelsTexts } from "../../messages/en/models.ts";
import { texts } from "../../messages/texts.ts";
import { Age } from "../../time/use-clock.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button, IconButton } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { formatCount, formatMs, formatShare } from "../../ui/format.ts";
import { Panel, Row } from "../../ui/layout.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { orderChanges, type PriorityChange } from "./endpoint-order.ts";
import classes from "./endpoints-panel.module.css";
import { HealthBadge } from "./health-badge.tsx";
import { endpointsRead, MODEL_READS } from "./model-reads.ts";
import type { ModelTabProps } from "./model-tab.ts";
import { AddBase, TrafficNotice } from "./traffic.tsx";
import { trafficShares } from "./traffic-shares.ts";

const text = texts("models", modelsTexts);
const route = getRouteApi("/signed-in/admin/models/$modelId");
const EndpointDialog = lazy(async () => ({ default: (await import("./endpoint-dialog.tsx")).EndpointDialog }));
/** In the address, in place of an endpoint that is open. */
const NEW = "new";
const NAME_MAX = 40;

type Endpoint = Records["ModelEndpoint"];

/** The endpoints of a model in the order of failover, which is changed by dragging or by keys. */
export function EndpointsPanel({ model }: ModelTabProps) {
  const { endpoint: openId } = route.useSearch();
  const navigate = useNavigate({ from: "/models/$modelId" });
  const endpoints = useQuery(endpointsRead(model.id));
  const open = (endpoint: string | undefined): void =>
    void navigate({ search: (before) => changedSearch(before, { endpoint }) });
  const opened = endpoints.data?.find(({ id }) => id === openId) ?? null;
  const add = (
    <Button writes icon={<Plus size={14} aria-hidden />} onClick={() => open(NEW)}>
      {text("endpointAdd")}
    </Button>
  );
  return (
    <Panel isFlush title={text("endpoints")} note={text("endpointsNote")} actions={add}>
      <Loaded state={endpoints}>
        {(rows) => (
          <>
            <TrafficNotice model={model} endpoints={rows} />
            <OrderedTable model={model} endpoints={rows} onOpen={({ id }) => open(id)} />
          </>
        )}
      </Loaded>
      <Suspense fallback={null}>
        {openId !== undefined && openId !== NEW && opened === null && endpoints.data !== undefined && (
          <Dialog isOpen onClose={() => open(undefined)} title={text("endpoint")}>
            <Empty title={text("endpointGone")}>{commonText("gone")}</Empty>
          </Dialog>
        )}
        {(opened !== null || openId === NEW) && endpoints.data !== undefined && (
          <EndpointDialog
            key={opened?.id ?? NEW}
            model={model}
            endpoints={endpoints.data}
            endpoint={opened}
            onClose={() => open(undefined)}
          />
        )}
      </Suspense>
    </Panel>
  );
}

/** A change of the order, and what takes it back. */
interface Move {
  readonly name: string;
  readonly place: number;
  readonly changes: readonly PriorityChange[];
  readonly before: readonly PriorityChange[];
}

function OrderedTable({
  model,
  endpoints,
  onOpen,
}: ModelTabProps & { readonly endpoints: readonly Endpoint[]; readonly onOpen: (endpoint: Endpoint) => void }) {
  const box = useRef<HTMLDivElement>(null);
  const [dragged, setDragged] = useState<number | null>(null);
  const [keptFocus, setKeptFocus] = useState<string | null>(null);
  const write = useAnnouncedWrite<Move>({
    send: async ({ changes }) => await sendAll(model.id, changes),
    touches: MODEL_READS,
    done: ({ name, place }) => text("endpointMoved", { name, place }),
    failed: () => text("endpointMoveFailed"),
    inverse: ({ name, place, changes, before }) => ({
      variables: { name, place, changes: before, before: changes },
      done: text("endpointMovedBack", { name }),
    }),
  });
  // A row that has moved in the document has lost the focus.
  useEffect(() => {
    if (keptFocus === null || endpoints.length === 0) return;
    box.current?.querySelector<HTMLElement>(`[data-handle="${CSS.escape(keptFocus)}"]`)?.focus();
  }, [keptFocus, endpoints]);
  const move = (from: number, to: number): void => {
    const endpoint = endpoints[from];
    const changes = orderChanges(endpoints, from, to);
    if (endpoint === undefined || changes.length === 0 || write.isBusy) return;
    const changed = new Set(changes.map(({ id }) => id));
    const before = endpoints.filter(({ id }) => changed.has(id)).map(({ id, priority }) => ({ id, priority }));
    write.run({ name: endpoint.name, place: to + 1, changes, before });
  };
  const onDrop = (event: DragEvent): void => {
    event.preventDefault();
    const row = event.target instanceof Element ? event.target.closest<HTMLElement>("tr[data-index]") : null;
    if (dragged !== null && row !== null) move(dragged, Number(row.dataset["index"]));
    setDragged(null);
  };
  const columns = useMemo(() => columnsOf(trafficShares(model, endpoints).endpoints), [model, endpoints]);
  const { choice, ...view } = useListView({
    rows: endpoints,
    columns,
    prefix: "endpoints_",
    label: text("endpoints"),
    file: "endpoints",
  });
  const isInOrder = view.sort === undefined;
  const handle: Column<Endpoint> = {
    id: "order",
    head: text("order"),
    cell: (endpoint) => {
      const at = endpoints.indexOf(endpoint);
      const onKey = (event: KeyboardEvent): void => {
        const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
        if (step === 0) return;
        event.preventDefault();
        setKeptFocus(endpoint.id);
        move(at, at + step);
      };
      return (
        <IconButton
          writes
          label={text(isInOrder ? "endpointMove" : "endpointMoveNot", { name: endpoint.name })}
          data-handle={endpoint.id}
          disabled={!isInOrder}
          draggable={isInOrder}
          aria-busy={write.isBusy || undefined}
          onDragStart={() => setDragged(at)}
          onDragEnd={() => setDragged(null)}
          onKeyDown={onKey}
          onBlur={() => setKeptFocus(null)}
        >
          <GripVertical size={16} aria-hidden />
        </IconButton>
      );
    },
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: takes what is dropped on a row; keys go to the handle of the row
    <div ref={box} onDragOver={(event) => dragged !== null && event.preventDefault()} onDrop={onDrop}>
      <div className={classes["tools"]}>
        <Row isEnd>{choice}</Row>
      </div>
      <Table
        label={text("endpoints")}
        {...view}
        columns={[handle, ...view.columns]}
        rows={view.rows ?? endpoints}
        rowKey={({ id }) => id}
        onOpen={onOpen}
        empty={
          <Empty
            title={text("endpointsEmpty")}
            action={model.api_base === "" ? undefined : <AddBase model={model} endpoints={endpoints} />}
          >
            {text(model.api_base === "" ? "endpointsEmptyNoBase" : "endpointsEmptyText")}
          </Empty>
        }
      />
    </div>
  );
}

/** One after the other, so that a refusal leaves the rest as it is. */
async function sendAll(id: string, changes: readonly PriorityChange[]): Promise<Awaited<Answered>> {
  const [first, ...rest] = changes;
  if (first === undefined) throw new Error("no endpoint is to be moved");
  const answered = await api.PUT("/api/v1/models/{id}/endpoints/{endpoint_id}", {
    params: { path: { id, endpoint_id: first.id } },
    body: { priority: first.priority },
  });
  return rest.length === 0 || !answered.response.ok ? answered : await sendAll(id, rest);
}

function columnsOf(shares: ReadonlyMap<string, number>): readonly ListColumn<Endpoint>[] {
  return [
    {
      id: "name",
      head: text("endpoint"),
      sortBy: ({ name }) => name,
      cell: ({ name }) => <bdi title={name}>{name.length > NAME_MAX ? `${name.slice(0, NAME_MAX)}…` : name}</bdi>,
    },
    {
      id: "address",
      head: text("address"),
      isWide: true,
      sortBy: ({ api_base }) => api_base,
      cell: ({ api_base }) => <bdi title={api_base}>{api_base}</bdi>,
    },
    {
      id: "health",
      head: text("health"),
      sortBy: ({ enabled, health_status }) => (enabled ? healthWord(health_status).title : text("off")),
      cell: ({ enabled, health_status, last_message }) => (
        <span title={last_message ?? undefined}>
          {enabled ? <HealthBadge status={health_status} /> : <Badge>{text("off")}</Badge>}
        </span>
      ),
    },
    {
      id: "traffic",
      head: <span title={text("trafficNote")}>{text("traffic")}</span>,
      name: text("traffic"),
      align: "right",
      sortBy: ({ id }) => shares.get(id) ?? 0,
      cell: ({ id }) => formatShare(shares.get(id) ?? 0),
    },
    {
      id: "weight",
      head: text("weight"),
      align: "right",
      sortBy: ({ weight }) => weight,
      cell: ({ weight }) => formatCount(weight),
    },
    {
      id: "latency",
      head: text("latency"),
      align: "right",
      sortBy: ({ last_latency_ms }) => last_latency_ms,
      unit: "ms",
      cell: ({ last_latency_ms }) => formatMs(last_latency_ms),
    },
    {
      id: "checked",
      head: text("lastCheck"),
      align: "right",
      sortBy: ({ last_checked_at }) => last_checked_at,
      cell: ({ last_checked_at }) => <Age at={last_checked_at} />,
    },
  ];
}
