import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { type CellRow, cellRows } from "../../explain/cell-rows.ts";
import { pageTarget } from "../../explain/link-target.ts";
import { ListTable } from "../../forms/list/list-table.tsx";
import { type ListColumn, useListView } from "../../forms/list/use-list-view.tsx";
import { TargetLink } from "../../links/target-link.tsx";
import { overviewTexts } from "../../messages/en/overview.ts";
import { texts } from "../../messages/texts.ts";
import { serverTimeOf } from "../../time/server-time.ts";
import { Age } from "../../time/use-clock.tsx";
import { Badge } from "../../ui/badge.tsx";
import { formatCount } from "../../ui/format.ts";
import { Empty } from "../../ui/states.tsx";
import { attentionRead, statsRead } from "./reads.ts";

const text = texts("overview", overviewTexts);

const COLUMNS: readonly ListColumn<CellRow>[] = [
  {
    id: "cell",
    head: text("cell"),
    isWide: true,
    sortBy: ({ cell }) => cell,
    cell: ({ cell }) => <TargetLink target={pageTarget("/fairshare", { cell })}>{cell}</TargetLink>,
  },
  {
    id: "state",
    head: text("cellState"),
    sortBy: ({ isGone }) => Number(isGone),
    csv: ({ isGone }) => text(isGone ? "cellGone" : "cellHere"),
    cell: ({ isGone }) => <Badge tone={isGone ? "bad" : "good"}>{text(isGone ? "cellGone" : "cellHere")}</Badge>,
  },
  {
    id: "inFlight",
    head: text("cellInFlight"),
    align: "right",
    sortBy: ({ inFlight }) => inFlight,
    cell: ({ inFlight }) => formatCount(inFlight),
  },
  {
    id: "queued",
    head: text("cellQueued"),
    align: "right",
    sortBy: ({ queued }) => queued,
    cell: ({ queued }) => formatCount(queued),
  },
  {
    id: "slots",
    head: text("cellCapacity"),
    align: "right",
    sortBy: ({ maxInFlight }) => maxInFlight,
    cell: ({ maxInFlight }) => formatCount(maxInFlight),
  },
  {
    id: "seen",
    head: text("cellSeen"),
    align: "right",
    sortBy: ({ lastSeenMs }) => lastSeenMs,
    csv: ({ lastSeenMs }) => (lastSeenMs === null ? null : new Date(lastSeenMs).toISOString()),
    cell: ({ lastSeenMs }) => (lastSeenMs === null ? text("never") : <Age at={lastSeenMs} />),
  },
];

/** The cells that reported within a day; one that is gone is said to be gone. */
export function CellsPanel() {
  const stats = useQuery(statsRead);
  const attention = useQuery(attentionRead);
  const rows = useMemo(
    () => stats.data && cellRows(stats.data.cells ?? [], attention.data ?? [], serverTimeOf(stats.dataUpdatedAt)),
    [stats.data, attention.data, stats.dataUpdatedAt],
  );
  const view = useListView({ rows, columns: COLUMNS, file: "cells" });
  return (
    <ListTable
      state={stats}
      view={view}
      title={text("cells")}
      note={text("cellsNote")}
      actions={view.choice}
      label={text("cells")}
      rowKey={({ cell }) => cell}
      empty={<Empty title={text("cellsNone")} />}
    />
  );
}
