import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { lazy, Suspense, useMemo, useState } from "react";
import { api, type Records } from "../../data/api.ts";
import { changedSearch } from "../../data/search-params.ts";
import type { useList } from "../../data/use-list.ts";
import { CsvLink } from "../../forms/list/csv-link.tsx";
import { ListTable } from "../../forms/list/list-table.tsx";
import { type ListColumn, useListView } from "../../forms/list/use-list-view.tsx";
import { useAnnouncedWrite } from "../../forms/record/use-announced-write.ts";
import { deploymentTexts } from "../../messages/en/deployments.ts";
import { texts } from "../../messages/texts.ts";
import { Age } from "../../time/use-clock.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { formatCount, formatText } from "../../ui/format.ts";
import { Grid, Tile } from "../../ui/layout.tsx";
import { Empty, Notice } from "../../ui/states.tsx";
import { DEPLOYMENT_READS } from "./deployment-reads.ts";
import { portText } from "./port-text.ts";
import { REPLICA_TONES } from "./spec-state.ts";

const text = texts("deployments", deploymentTexts);
const route = getRouteApi("/signed-in/admin/deployments/$modelId");
const ReplicaPanel = lazy(async () => ({ default: (await import("./replica-panel.tsx")).ReplicaPanel }));

type Replica = Records["ModelReplica"];

interface ReplicasTabProps {
  readonly replicas: ReturnType<typeof useList<Replica>>;
  /** Null: the spec was removed, and the replicas end. */
  readonly spec: Records["ManagedModel"] | null;
}

/** The replicas of a managed model, the newest first. */
export function ReplicasTab({ replicas, spec }: ReplicasTabProps) {
  const { modelId } = route.useParams();
  const { replica: openId } = route.useSearch();
  const navigate = useNavigate({ from: "/deployments/$modelId" });
  const open = (id: string | undefined): void =>
    void navigate({ search: (before) => changedSearch(before, { replica: id }) });
  const rows = useMemo(() => replicas.data?.toReversed(), [replicas.data]);
  const view = useListView({ rows, columns: COLUMNS });
  const isOff = spec === null || !spec.enabled || spec.target_replicas === 0;
  return (
    <>
      {spec !== null && <Counts spec={spec} />}
      {spec !== null && <LostNotice spec={spec} />}
      <ListTable
        state={replicas}
        view={view}
        title={text("replicas")}
        actions={
          <>
            {view.choice}
            <CsvLink path="/api/v1/replicas" query={{ model_id: modelId }} />
          </>
        }
        label={text("replicas")}
        rowKey={({ id }) => id}
        onOpen={({ id }) => open(id)}
        openKey={openId}
        empty={<Empty title={text("noReplicas")}>{text(isOff ? "noReplicasOff" : "noReplicasText")}</Empty>}
      />
      <Suspense fallback={null}>
        {openId !== undefined && rows !== undefined && (
          <ReplicaPanel
            key={openId}
            id={openId}
            modelId={modelId}
            replica={rows.find(({ id }) => id === openId)}
            onClose={() => open(undefined)}
          />
        )}
      </Suspense>
    </>
  );
}

function Counts({ spec: { enabled, target_replicas, replicas } }: { readonly spec: Records["ManagedModel"] }) {
  const { healthy = 0, pending = 0, starting = 0, draining = 0, lost = 0 } = replicas;
  return (
    <Grid>
      <Tile label={text("target")} value={formatCount(enabled ? target_replicas : 0)} />
      <Tile label={text("healthy")} value={formatCount(healthy)} />
      <Tile label={text("starting")} value={formatCount(pending + starting)} />
      <Tile label={text("draining")} value={formatCount(draining)} />
      <Tile label={text("lost")} value={formatCount(lost)} />
    </Grid>
  );
}

/** How many were lost, what that keeps from starting, and how to begin anew. */
function LostNotice({ spec }: { readonly spec: Records["ManagedModel"] }) {
  const { model_id, model_name: name, max_job_failures: max, replicas } = spec;
  const count = replicas.lost ?? 0;
  const [isAsked, setAsked] = useState(false);
  const clearing = useAnnouncedWrite<null>({
    send: async () => await api.POST("/api/v1/models/{id}/replicas/clear-lost", { params: { path: { id: model_id } } }),
    touches: DEPLOYMENT_READS,
    done: () => text("cleared", { name }),
    failed: () => text("clearFailed", { name }),
    onDone: () => setAsked(false),
  });
  if (count === 0) return null;
  return (
    <Notice tone="warn">
      <p>
        {text("lostNote", { count })} {max > 0 && text("lostGate", { max })}
      </p>
      <Button writes onClick={() => setAsked(true)}>
        {text("clearLost")}
      </Button>
      <Confirm
        isOpen={isAsked}
        onCancel={() => setAsked(false)}
        onConfirm={() => clearing.run(null)}
        title={text("clearTitle", { count, name })}
        confirmLabel={text("clearLost")}
        isBusy={clearing.isBusy}
      >
        {text("clearText")}
      </Confirm>
    </Notice>
  );
}

const COLUMNS: readonly ListColumn<Replica>[] = [
  {
    id: "state",
    head: text("state"),
    sortBy: ({ state }) => state,
    cell: ({ state, cancel_requested }) => (
      <>
        <Badge tone={REPLICA_TONES[state]}>{text(`replica_${state}`)}</Badge>{" "}
        {cancel_requested && state !== "draining" && <Badge tone="warn">{text("asked")}</Badge>}
      </>
    ),
  },
  {
    id: "job",
    isOftenEmpty: true,
    head: text("job"),
    sortBy: ({ job_id }) => job_id,
    cell: ({ job_id }) => job_id ?? text("notSubmitted"),
  },
  {
    id: "node",
    isOftenEmpty: true,
    head: text("node"),
    isWide: true,
    sortBy: ({ nodes }) => nodes,
    cell: ({ nodes }) => <bdi title={nodes}>{formatText(nodes)}</bdi>,
  },
  { id: "port", head: text("port"), align: "right", cell: portText },
  {
    id: "since",
    head: text("since"),
    sortBy: ({ state_since }) => state_since,
    cell: ({ state_since }) => <Age at={state_since} />,
  },
  {
    id: "age",
    head: text("age"),
    sortBy: ({ created_at }) => created_at,
    cell: ({ created_at }) => <Age at={created_at} />,
  },
  {
    id: "restarts",
    isOftenEmpty: true,
    head: text("restarts"),
    align: "right",
    sortBy: ({ restart_count }) => restart_count,
    cell: ({ restart_count }) => formatCount(restart_count),
  },
  {
    id: "misses",
    isOftenEmpty: true,
    head: text("misses"),
    align: "right",
    sortBy: ({ probe_misses }) => probe_misses,
    cell: ({ probe_misses }) => formatCount(probe_misses),
  },
  {
    id: "message",
    isOftenEmpty: true,
    head: text("message"),
    isWide: true,
    sortBy: ({ last_message }) => last_message,
    cell: ({ last_message }) => <bdi title={last_message ?? undefined}>{last_message ?? ""}</bdi>,
  },
];
