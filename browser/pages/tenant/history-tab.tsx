import { useInfiniteQuery } from "@tanstack/react-query";
import { useCallback, useMemo } from "react";
import type { Records } from "../../data/api.ts";
import { readPages } from "../../data/reads.ts";
import { fieldLabel, valueText } from "../../forms/record/field-words.ts";
import { tenantTexts } from "../../messages/en/tenant.ts";
import { texts } from "../../messages/texts.ts";
import { formatInstant, instantOf } from "../../time/instants.ts";
import { zoneLabel } from "../../time/zones.ts";
import { Panel } from "../../ui/layout.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import type { TenantTabProps } from "./tenant-tab.ts";

const text = texts("tenant", tenantTexts);
const stateTexts = {
  loading: text("loading"),
  failed: text("historyFailed"),
  stale: text("stale"),
  retry: text("retry"),
};
const EVERY_MS = 30_000;
const PAGE_ROWS = "100";

type AuditEntry = Records["AuditEntry"];

/** What was changed of the tenant, by whom, the newest first (docs/rules/management-api.md#audit-log). */
export function HistoryTab({ tenant: { id, timezone } }: TenantTabProps) {
  const entries = useInfiniteQuery(
    readPages<AuditEntry>(
      "/api/v1/audit",
      { entity_type: "tenant", entity_id: id, limit: PAGE_ROWS },
      { everyMs: EVERY_MS },
    ),
  );
  const rows = useMemo(() => entries.data?.pages.flatMap((page) => page.rows), [entries.data]);
  const columns = useMemo(() => columnsOf(timezone), [timezone]);
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = entries;
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  return (
    <Panel isFlush title={text("history")} note={zoneLabel(timezone, Date.now())}>
      <Loaded state={{ ...entries, data: rows }} texts={stateTexts}>
        {(shown) => (
          <Table
            label={text("history")}
            columns={columns}
            rows={shown}
            rowKey={(entry) => String(entry.id)}
            onEnd={onEnd}
            empty={<Empty title={text("historyEmpty")} />}
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

/** Old and new of each field that an entry tells; of other entries their details. */
export function changesText(detail: Readonly<Record<string, unknown>>, zone: string): string {
  const { changed } = detail;
  if (typeof changed !== "object" || changed === null)
    return Object.keys(detail).length === 0 ? "" : valueText(detail, zone);
  return Object.entries(changed)
    .map(([name, change]: [string, unknown]) => {
      const said =
        Array.isArray(change) && change.length === 2
          ? text("from", { before: valueText(change[0], zone), after: valueText(change[1], zone) })
          : valueText(change, zone);
      return `${fieldLabel(name)}: ${said}`;
    })
    .join("; ");
}
