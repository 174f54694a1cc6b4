import { useMemo } from "react";
import type { FairshareLive, WaitingQueue } from "../../../shared/schema/load.ts";
import { explainWaiting } from "../../explain/explain-waiting.ts";
import { type ListColumn, useListView } from "../../forms/list/use-list-view.tsx";
import { fairshareTexts } from "../../messages/en/fairshare.ts";
import { texts } from "../../messages/texts.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { TextField } from "../../ui/fields.tsx";
import { formatCount, formatMs } from "../../ui/format.ts";
import { Panel } from "../../ui/layout.tsx";
import { Empty, Notice } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import classes from "./fairshare-page.module.css";
import { helpfulLimit } from "./helpful-limit.ts";
import { type ListedQueue, listedQueues, matchingQueues, type QueueFilter, queueId, tenantNameIn } from "./queues.ts";

const text = texts("fairshare", fairshareTexts);

const COLUMNS: readonly ListColumn<ListedQueue>[] = [
  {
    id: "tenant",
    head: text("tenant"),
    isWide: true,
    sortBy: ({ tenant }) => tenant,
    cell: ({ tenant }) => <bdi title={tenant}>{tenant}</bdi>,
  },
  {
    id: "model",
    head: text("model"),
    isWide: true,
    sortBy: ({ model }) => model,
    cell: ({ model }) => <bdi title={model}>{model}</bdi>,
  },
  {
    id: "reason",
    head: text("reason"),
    sortBy: (queue) => explainWaiting(queue).reason,
    cell: (queue) => <Badge tone="warn">{explainWaiting(queue).reason}</Badge>,
  },
  {
    id: "longest",
    head: text("longest"),
    align: "right",
    sortBy: (queue) => queue.oldest_wait_ms,
    unit: "ms",
    cell: (queue) => formatMs(queue.oldest_wait_ms),
  },
  {
    id: "queued",
    head: text("queued"),
    align: "right",
    sortBy: ({ queued }) => queued,
    cell: ({ queued }) => formatCount(queued),
  },
  {
    id: "group",
    head: text("group"),
    isWide: true,
    sortBy: ({ group }) => group,
    cell: ({ group }) => <bdi title={group}>{group}</bdi>,
  },
];

/** What a person can do, by the limit. */
const ACTIONS = {
  tenant_cap: text("act_tenant_cap"),
  model_cap: text("act_model_cap"),
  group_share: text("act_group_share"),
  tenant_share: text("act_tenant_share"),
  cell_full: text("act_cell_full"),
  headroom: text("act_headroom"),
  budget: text("act_budget"),
} satisfies Record<WaitingQueue["reason"], string>;

/** Every queue that a limit holds up, the longest wait first until the address says otherwise. */
export function WaitingPanel({
  live,
  filter,
  onFilter,
  open,
  onOpen,
  missingCells,
}: {
  readonly live: FairshareLive;
  readonly filter: QueueFilter;
  readonly onFilter: (filter: QueueFilter) => void;
  readonly open: string | undefined;
  readonly onOpen: (id: string) => void;
  /** Cells whose queues are not in the list. */
  readonly missingCells: readonly string[];
}) {
  const { waiting } = live;
  const columns: readonly ListColumn<ListedQueue>[] = [
    ...COLUMNS,
    {
      id: "action",
      head: text("letsGo"),
      cell: (queue) => {
        const reason = helpfulLimit(queue, waiting);
        return (
          <Button
            tone="quiet"
            className={classes["action"]}
            title={explainWaiting({ ...queue, reason }).remedy}
            onClick={() => onOpen(queueId(queue))}
          >
            {ACTIONS[reason]}
          </Button>
        );
      },
    },
  ];
  const rows = useMemo(() => listedQueues(matchingQueues(waiting, filter)), [waiting, filter]);
  const { choice, ...view } = useListView({
    rows,
    columns,
    prefix: "waiting_",
    label: text("waitingTitle"),
    file: "waiting",
  });
  const count = waiting.reduce((sum, { queued }) => sum + queued, 0);
  const opened = rows.find((queue) => queueId(queue) === open);
  return (
    <Panel
      title={
        <>
          {text("waitingTitle")} {count > 0 && <Badge tone="warn">{text("waitingCount", { count })}</Badge>}
        </>
      }
      actions={
        <>
          <div className={classes["filter"]}>
            <TextField
              label={text("waitingFilter")}
              isLabelHidden
              placeholder={text("waitingFilter")}
              type="search"
              data-page-filter=""
              value={filter.text}
              onChange={(event) => onFilter({ ...filter, text: event.target.value })}
            />
          </div>
          {choice}
        </>
      }
      isFlush
    >
      {filter.tenantId !== undefined && (
        <Notice>
          {text("onlyTenant", { tenant: tenantNameIn(live, filter.tenantId) })}{" "}
          <Button tone="quiet" onClick={() => onFilter({ ...filter, tenantId: undefined })}>
            {text("everyTenant")}
          </Button>
        </Notice>
      )}
      {missingCells.length > 0 && <Notice tone="warn">{text("othersGone", { cells: missingCells.join(", ") })}</Notice>}
      <Table
        label={text("waitingTitle")}
        {...view}
        rows={view.rows ?? rows}
        rowKey={({ key }) => key}
        onOpen={(queue) => onOpen(queueId(queue))}
        openKey={opened?.key}
        empty={<Nothing live={live} filter={filter} />}
      />
    </Panel>
  );
}

function Nothing({ live, filter }: { readonly live: FairshareLive; readonly filter: QueueFilter }) {
  if (filter.text.trim() !== "" && live.waiting.length > 0)
    return <Empty title={text("noMatch", { text: filter.text })} />;
  if (live.waiting.length > 0) return <Empty title={text("tenantWaitsNot")} />;
  const { global_queued: count, global_in_flight: inFlight, max_in_flight: capacity } = live;
  return (
    <Empty title={text("nobodyWaits")}>
      {count > 0
        ? text("turnComes", { count })
        : text("nobodyWaitsText", { inFlight: formatCount(inFlight), capacity: formatCount(capacity) })}
    </Empty>
  );
}
