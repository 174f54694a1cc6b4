import { useMemo } from "react";
import type { AuditEntity } from "../../../shared/schema/audit-entities.ts";
import type { Records } from "../../data/api.ts";
import { useList } from "../../data/use-list.ts";
import { historyTexts } from "../../messages/en/history.ts";
import { texts } from "../../messages/texts.ts";
import { formatInstant, instantOf } from "../../time/instants.ts";
import { serverNowMs } from "../../time/server-time.ts";
import { zoneLabel } from "../../time/zones.ts";
import { Empty } from "../../ui/states.tsx";
import { actionText } from "../audit/action-words.ts";
import type { ObjectNames } from "../audit/audit-words.tsx";
import { useObjectNames } from "../audit/use-object-names.ts";
import { withNames } from "../audit/with-names.ts";
import { CsvLink } from "../list/csv-link.tsx";
import { ListTable } from "../list/list-table.tsx";
import { type ListColumn, useListView } from "../list/use-list-view.tsx";
import { changesText } from "./changes.ts";

const text = texts("history", historyTexts);
const EVERY_MS = 30_000;

type AuditEntry = Records["AuditEntry"];

interface HistoryProps {
  /** Whose changes, by the filters of the audit log. */
  readonly of:
    | { readonly entity_type: AuditEntity; readonly entity_id: string }
    /** Of all replicas that a model has, or had. */
    | { readonly replicas_of: string };
  /** By whose clock times are shown. */
  readonly zone: string;
  /** Absent: that these are the changes. */
  readonly title?: string;
  /** Nothing is shown while nothing was changed. */
  readonly isOptional?: boolean;
}

/**
 * What was changed of an object, by whom, the newest first (docs/rules/management-api.md#audit-log). For admins. The route of the
 * page has to know `changes_columns`, and `replicas_columns` where it is about replicas.
 */
export function History({ of, zone, title = text("title"), isOptional = false }: HistoryProps) {
  const entries = useList<AuditEntry>("/api/v1/audit", of, { everyMs: EVERY_MS });
  const isOfReplicas = "replicas_of" in of;
  // only a person's changes name other objects by their ids
  const names = useObjectNames("entity_type" in of && of.entity_type === "user");
  const columns = useMemo(() => columnsOf(zone, isOfReplicas, names), [zone, isOfReplicas, names]);
  const view = useListView({
    rows: entries.data,
    columns,
    prefix: isOfReplicas ? "replicas_" : "changes_",
    label: title,
  });
  if (isOptional && (entries.data === undefined || entries.data.length === 0)) return null;
  return (
    <ListTable
      state={entries}
      view={view}
      title={title}
      note={zoneLabel(zone, serverNowMs())}
      actions={
        <>
          {view.choice}
          <CsvLink path="/api/v1/audit" query={of} />
        </>
      }
      label={title}
      rowKey={(entry) => String(entry.id)}
      onEnd={entries.onEnd}
      empty={<Empty title={text("empty")} />}
    />
  );
}

function columnsOf(zone: string, isOfReplicas: boolean, names: ObjectNames): readonly ListColumn<AuditEntry>[] {
  const replica: ListColumn<AuditEntry> = {
    id: "replica",
    head: text("replica"),
    cell: ({ entity_type, entity_id }) => (entity_type === "model_replica" ? entity_id.slice(0, 8) : text("all")),
  };
  return [
    { id: "when", head: text("when"), cell: ({ ts }) => formatInstant(zone, instantOf(ts)) },
    { id: "who", head: text("who"), cell: ({ actor }) => <bdi>{actor}</bdi> },
    { id: "what", head: text("what"), cell: ({ action }) => actionText(action) },
    ...(isOfReplicas ? [replica] : []),
    {
      id: "changes",
      head: text("changes"),
      isWide: true,
      cell: ({ detail }) => {
        const said = changesText(withNames(detail, names), zone);
        return <bdi title={said}>{said}</bdi>;
      },
    },
  ];
}
