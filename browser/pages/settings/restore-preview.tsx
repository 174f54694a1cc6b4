import { useMemo } from "react";
import type { Records } from "../../data/api.ts";
import { type ListColumn, useListView } from "../../forms/list/use-list-view.tsx";
import { fieldLabel, valueText } from "../../forms/record/field-words.ts";
import { settingsTexts } from "../../messages/en/settings.ts";
import { texts } from "../../messages/texts.ts";
import { formatInstant, instantOf } from "../../time/instants.ts";
import { useZone } from "../../time/zone-context.tsx";
import { Badge } from "../../ui/badge.tsx";
import { formatCount } from "../../ui/format.ts";
import { Row } from "../../ui/layout.tsx";
import { Notice } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { type ChangedObject, changedObjects, type Differences, type Kind, kindsOf } from "./backup-file.ts";

const text = texts("settings", settingsTexts);

type KindRow = Differences[Kind] & { readonly kind: Kind };

const KINDS: readonly ListColumn<KindRow>[] = [
  {
    id: "kind",
    head: text("kind"),
    isWide: true,
    sortBy: ({ kind }) => text(`kind_${kind}`),
    cell: ({ kind }) => text(`kind_${kind}`),
  },
  ...(["added", "changed", "unchanged"] as const).map(
    (id): ListColumn<KindRow> => ({
      id,
      head: text(id),
      align: "right",
      sortBy: (row) => row[id],
      cell: (row) => formatCount(row[id]),
    }),
  ),
  {
    id: "only_here",
    head: <span title={text("onlyHereNote")}>{text("onlyHere")}</span>,
    name: text("onlyHere"),
    align: "right",
    sortBy: ({ only_here }) => only_here,
    cell: ({ only_here }) => formatCount(only_here),
  },
];

/** What a dry run says: how many objects of each kind, which ones, and what would not be restored as it is. */
export function RestorePreview({ report }: { readonly report: Records["RestoreReport"] }) {
  const { zone } = useZone();
  const { differences, warnings, source_exported_at, source_gateway_version } = report;
  if (differences === undefined) return null;
  const { objects, unlisted } = changedObjects(differences);
  return (
    <>
      <p>
        {text("previewOf", {
          instant: formatInstant(zone, instantOf(source_exported_at)),
          version: source_gateway_version,
        })}
      </p>
      <Warnings warnings={warnings} />
      <Kinds differences={differences} />
      {objects.length === 0 ? <Notice>{text("previewNone")}</Notice> : <Objects objects={objects} zone={zone} />}
      {unlisted > 0 && <p>{text("more", { count: unlisted })}</p>}
    </>
  );
}

function Kinds({ differences }: { readonly differences: Differences }) {
  const rows = useMemo(() => kindsOf(differences), [differences]);
  const label = text("differences");
  const { choice, ...view } = useListView({ rows, columns: KINDS, prefix: "kinds_", label, file: "restore" });
  return (
    <>
      <Row isEnd>{choice}</Row>
      <Table label={label} {...view} rows={view.rows ?? rows} rowKey={({ kind }) => kind} />
    </>
  );
}

function Objects({ objects, zone }: { readonly objects: readonly ChangedObject[]; readonly zone: string }) {
  const columns = useMemo(() => columnsOf(zone), [zone]);
  const label = text("changed");
  const { choice, ...view } = useListView({ rows: objects, columns, prefix: "objects_", label, file: "restored" });
  return (
    <>
      <Row isEnd>{choice}</Row>
      <Table label={label} {...view} rows={view.rows ?? objects} rowKey={({ key }) => key} />
    </>
  );
}

/** What is restored in another way than the file says. */
export function Warnings({ warnings }: { readonly warnings: readonly string[] }) {
  if (warnings.length === 0) return null;
  return (
    <Notice tone="warn">
      <strong>{text("warnings")}</strong>
      <ul>
        {warnings.map((warning) => (
          <li key={warning}>{warning}</li>
        ))}
      </ul>
    </Notice>
  );
}

function columnsOf(zone: string): readonly ListColumn<ChangedObject>[] {
  const fieldsOf = ({ fields }: ChangedObject): string =>
    Object.entries(fields)
      .map(([name, change]) => {
        const field = fieldLabel(name);
        if (!Array.isArray(change)) return text("fieldSecret", { field });
        const [before, after] = change.map((value) => valueText(name, value, zone));
        return text("fieldChange", { field, before: before ?? "", after: after ?? "" });
      })
      .join("; ");
  return [
    {
      id: "kind",
      head: text("kind"),
      sortBy: ({ kind }) => text(`kind_${kind}`),
      cell: ({ kind }) => text(`kind_${kind}`),
    },
    {
      id: "name",
      head: text("object"),
      isWide: true,
      sortBy: ({ name }) => name,
      cell: ({ name }) => <bdi title={name}>{name}</bdi>,
    },
    {
      id: "change",
      head: text("change"),
      sortBy: ({ change }) => text(change),
      cell: ({ change }) => <Badge tone={change === "added" ? "good" : "accent"}>{text(change)}</Badge>,
    },
    {
      id: "fields",
      head: text("fields"),
      isWide: true,
      csv: fieldsOf,
      cell: (object) => {
        const said = fieldsOf(object);
        return <bdi title={said}>{said}</bdi>;
      },
    },
  ];
}
