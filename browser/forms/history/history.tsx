import { useInfiniteQuery } from "@tanstack/react-query";
import { useCallback, useMemo } from "react";
import type { Records } from "../../data/api.ts";
import { readPages } from "../../data/reads.ts";
import { historyTexts } from "../../messages/en/history.ts";
import { texts } from "../../messages/texts.ts";
import { formatInstant, instantOf } from "../../time/instants.ts";
import { zoneLabel } from "../../time/zones.ts";
import { Panel } from "../../ui/layout.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { changesText } from "./changes.ts";

const text = texts("history", historyTexts);
const stateTexts = {
  loading: text("loading"),
  failed: text("failed"),
  stale: text("stale"),
  retry: text("retry"),
};
const EVERY_MS = 30_000;
const PAGE_ROWS = "100";

type AuditEntry = Records["AuditEntry"];

interface HistoryProps {
  /** As the audit log calls the kind of the object, such as `tenant`. */
  readonly entityType: string;
  /** Undefined: all objects of this kind. */
  readonly entityId: string | undefined;
  /** By whose clock times are shown. */
  readonly zone: string;
}

/** What was changed of an object, by whom, the newest first (docs/rules/management-api.md#audit-log). For admins. */
export function History({ entityType, entityId, zone }: HistoryProps) {
  const entries = useInfiniteQuery(
    readPages<AuditEntry>(
      "/api/v1/audit",
      { entity_type: entityType, entity_id: entityId, limit: PAGE_ROWS },
      { everyMs: EVERY_MS },
    ),
  );
  const rows = useMemo(() => entries.data?.pages.flatMap((page) => page.rows), [entries.data]);
  const columns = useMemo(() => columnsOf(zone), [zone]);
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = entries;
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  return (
    <Panel isFlush title={text("title")} note={zoneLabel(zone, Date.now())}>
      <Loaded state={{ ...entries, data: rows }} texts={stateTexts}>
        {(shown) => (
          <Table
            label={text("title")}
            columns={columns}
            rows={shown}
            rowKey={(entry) => String(entry.id)}
            onEnd={onEnd}
            empty={<Empty title={text("empty")} />}
          />
        )}
      </Loaded>
    </Panel>
  );
}

function columnsOf(zone: string): readonly Column<AuditEntry>[] {
  return [
    { id: "when", head: text("when"), cell: ({ ts }) => formatInstant(zone, instantOf(ts)) },
    { id: "who", head: text("who"), cell: ({ actor }) => <bdi>{actor}</bdi> },
    { id: "what", head: text("what"), cell: ({ action }) => action.replaceAll("_", " ") },
    {
      id: "changes",
      head: text("changes"),
      isWide: true,
      cell: ({ detail }) => {
        const said = changesText(detail, zone);
        return <bdi title={said}>{said}</bdi>;
      },
    },
  ];
}
