import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import type { FairshareLive } from "../../../shared/schema/load.ts";
import { read } from "../../data/reads.ts";
import { GrafanaLink } from "../../links/grafana-link.tsx";
import { fairshareTexts } from "../../messages/en/fairshare.ts";
import { pageTexts } from "../../messages/en/pages.ts";
import { texts } from "../../messages/texts.ts";
import { serverTimeOf } from "../../time/server-time.ts";
import { Age } from "../../time/use-clock.tsx";
import { Button } from "../../ui/button.tsx";
import { SelectField } from "../../ui/fields.tsx";
import { PageHead, Panel, Row } from "../../ui/layout.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { useUnsaved } from "../../ui/unsaved.tsx";
import classes from "./fairshare-page.module.css";
import { helpfulLimit } from "./helpful-limit.ts";
import { ModelSlotsTable } from "./model-slots-table.tsx";
import { OPEN_CAPACITY } from "./queues.ts";
import { SlotsPanel } from "./slots-panel.tsx";
import { WaitingPanel } from "./waiting-panel.tsx";
import type { TypedWeights } from "./weight-edits.ts";

const text = texts("fairshare", fairshareTexts);
const OpenedDialog = lazy(async () => ({ default: (await import("./queue-dialog.tsx")).OpenedDialog }));
const Weights = lazy(async () => ({ default: (await import("./weights.tsx")).Weights }));
const GroupsDialog = lazy(async () => ({ default: (await import("./groups-dialog.tsx")).GroupsDialog }));
const pageText = texts("pages", pageTexts);
const route = getRouteApi("/signed-in/admin/fairshare");

const LIVE_EVERY_MS = 2000;
const CELLS_EVERY_MS = 15_000;
const GROUPS_EVERY_MS = 60_000;

type Search = ReturnType<typeof route.useSearch>;

/** Who waits, and why: the queues, the slots, and what other limits and weights would change. */
export function FairsharePage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { cell } = search;
  // Here, so that they outlast the choice of another cell.
  const [typed, setTyped] = useState<TypedWeights>(new Map());
  useUnsaved(typed.size > 0);
  const live = useQuery(
    read(
      "/api/v1/fairshare/live",
      { params: { query: cell === undefined ? {} : { cell } } },
      { everyMs: LIVE_EVERY_MS },
    ),
  );
  const stats = useQuery(read("/api/v1/stats", {}, { everyMs: CELLS_EVERY_MS }));
  const show = (change: Search): void =>
    void navigate({ search: (before) => ({ ...before, ...change }), replace: true });
  // While another cell is being read, what was read is still the one before.
  const data = live.isPlaceholderData || (cell !== undefined && live.data?.cell !== cell) ? undefined : live.data;
  const known = stats.data?.cells?.map((one) => one.cell) ?? [];
  const cells = [...new Set([...known, ...(cell === undefined ? [] : [cell])])].sort();
  const isUnknown = data === undefined && live.error?.status === 404;
  const failed = cell === undefined ? text("cellGoneOwn") : text("cellGone", { cell });
  const isGone = live.error?.code === "cell_unreachable";
  return (
    <>
      <PageHead
        title={pageText("fairshare")}
        question={pageText("fairshareQuestion")}
        actions={
          <Row>
            <span className={classes["age"]}>
              {text("updated")} <Age at={data === undefined ? null : serverTimeOf(live.dataUpdatedAt)} />
            </span>
            {cells.length > 1 && (
              <SelectField
                label={text("cell")}
                isLabelHidden
                value={cell ?? ""}
                onChange={(event) => show({ cell: event.target.value === "" ? undefined : event.target.value })}
                choices={[{ value: "", label: text("allCells") }, ...cells.map((one) => ({ value: one, label: one }))]}
              />
            )}
            <GrafanaLink cell={cell} />
          </Row>
        }
      />
      {isUnknown && cell !== undefined ? (
        <Empty
          title={text("cellUnknown")}
          action={<Button onClick={() => show({ cell: undefined })}>{text("cellUnknownAction")}</Button>}
        >
          {text("cellUnknownText", { cell })}
        </Empty>
      ) : (
        <Loaded state={{ ...live, data }} {...(isGone ? { failed, stale: text("cellGoneStale") } : {})}>
          {(shown) => (
            <Cell live={shown} search={search} onSearch={show} cells={known} typed={typed} onTyped={setTyped} />
          )}
        </Loaded>
      )}
    </>
  );
}

function Cell({
  live,
  search,
  onSearch,
  cells,
  typed,
  onTyped,
}: {
  readonly live: FairshareLive;
  readonly search: Search;
  readonly onSearch: (change: Search) => void;
  /** Every cell that is known. */
  readonly cells: readonly string[];
  readonly typed: TypedWeights;
  readonly onTyped: (change: (typed: TypedWeights) => TypedWeights) => void;
}) {
  const { cell, range, by, tenant_id: tenantId, q, open } = search;
  const [isEditing, setEditing] = useState(false);
  const groups = useQuery(
    read("/api/v1/fairshare/groups", { params: { query: { limit: "200" } } }, { everyMs: GROUPS_EVERY_MS }),
  );
  return (
    <>
      <WaitingPanel
        live={live}
        filter={{ text: q ?? "", tenantId }}
        onFilter={({ text: filter, tenantId: chosen }) =>
          onSearch({ q: filter === "" ? undefined : filter.slice(0, 200), tenant_id: chosen })
        }
        open={open}
        onOpen={(id) => onSearch({ open: id })}
        missingCells={cell === undefined ? cells.filter((one) => !live.waiting_cells.includes(one)) : []}
      />
      <SlotsPanel
        live={live}
        range={range ?? "1h"}
        division={by ?? "group"}
        onRange={(chosen) => onSearch({ range: chosen === "1h" ? undefined : chosen })}
        onDivision={(chosen) => onSearch({ by: chosen === "group" ? undefined : chosen })}
        onCapacity={() => onSearch({ open: OPEN_CAPACITY })}
      />
      <Panel
        title={text("weights")}
        isFlush
        actions={
          <Button writes onClick={() => setEditing(true)}>
            {text("editGroups")}
          </Button>
        }
      >
        <Loaded state={groups}>
          {(all) => (
            <Suspense fallback={<div className={classes["weightsPlace"]} />}>
              <Weights live={live} groups={all} typed={typed} onTyped={onTyped} />
            </Suspense>
          )}
        </Loaded>
      </Panel>
      <ModelSlotsTable live={live} />
      <Suspense fallback={null}>
        {isEditing && <GroupsDialog onClose={() => setEditing(false)} />}
        {open !== undefined && (
          <OpenedDialog
            open={open}
            live={live}
            cell={cell ?? null}
            helps={(queue) => helpfulLimit(queue, live.waiting)}
            onClose={() => onSearch({ open: undefined })}
          />
        )}
      </Suspense>
    </>
  );
}
