import { useQuery } from "@tanstack/react-query";
import { pageTarget } from "../../explain/link-target.ts";
import { TargetLink } from "../../links/target-link.tsx";
import { STATE_TEXTS } from "../../messages/common.ts";
import { overviewTexts } from "../../messages/en/overview.ts";
import { texts } from "../../messages/texts.ts";
import { Age } from "../../time/use-clock.tsx";
import { Badge } from "../../ui/badge.tsx";
import { formatCount } from "../../ui/format.ts";
import { Panel } from "../../ui/layout.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { type CellRow, cellRows } from "./cell-rows.ts";
import { attentionRead, statsRead } from "./reads.ts";

const text = texts("overview", overviewTexts);

const COLUMNS: readonly Column<CellRow>[] = [
  {
    id: "cell",
    head: text("cell"),
    isWide: true,
    cell: ({ cell }) => <TargetLink target={pageTarget("/fairshare", { cell })}>{cell}</TargetLink>,
  },
  {
    id: "state",
    head: text("cellState"),
    cell: ({ isGone }) => <Badge tone={isGone ? "bad" : "good"}>{text(isGone ? "cellGone" : "cellHere")}</Badge>,
  },
  { id: "inFlight", head: text("cellInFlight"), align: "right", cell: ({ inFlight }) => formatCount(inFlight) },
  { id: "queued", head: text("cellQueued"), align: "right", cell: ({ queued }) => formatCount(queued) },
  { id: "slots", head: text("cellCapacity"), align: "right", cell: ({ maxInFlight }) => formatCount(maxInFlight) },
  {
    id: "seen",
    head: text("cellSeen"),
    align: "right",
    cell: ({ lastSeenMs }) => (lastSeenMs === null ? text("never") : <Age at={lastSeenMs} />),
  },
];

/** The cells that reported within a day; one that is gone is said to be gone. */
export function CellsPanel() {
  const stats = useQuery(statsRead);
  const attention = useQuery(attentionRead);
  return (
    <Panel title={text("cells")} isFlush>
      <Loaded state={stats} texts={STATE_TEXTS}>
        {({ cells }) => (
          <Table
            label={text("cells")}
            columns={COLUMNS}
            rows={cellRows(cells ?? [], attention.data ?? [], stats.dataUpdatedAt)}
            rowKey={({ cell }) => cell}
            empty={<Empty title={text("cellsNone")} />}
          />
        )}
      </Loaded>
    </Panel>
  );
}
