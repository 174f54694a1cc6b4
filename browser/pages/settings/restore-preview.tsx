import type { Records } from "../../data/api.ts";
import { fieldLabel, valueText } from "../../forms/record/field-words.ts";
import { settingsTexts } from "../../messages/en/settings.ts";
import { texts } from "../../messages/texts.ts";
import { formatInstant, instantOf } from "../../time/instants.ts";
import { useZone } from "../../time/zone-context.tsx";
import { Badge } from "../../ui/badge.tsx";
import { formatCount } from "../../ui/format.ts";
import { Notice } from "../../ui/states.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { type ChangedObject, changedObjects, type Differences, type Kind, kindsOf } from "./backup-file.ts";

const text = texts("settings", settingsTexts);

type KindRow = Differences[Kind] & { readonly kind: Kind };

const KINDS: readonly Column<KindRow>[] = [
  { id: "kind", head: text("kind"), isWide: true, cell: ({ kind }) => text(`kind_${kind}`) },
  ...(["added", "changed", "unchanged"] as const).map(
    (id): Column<KindRow> => ({
      id,
      head: text(id),
      align: "right",
      cell: (row) => formatCount(row[id]),
    }),
  ),
  {
    id: "only_here",
    head: <span title={text("onlyHereNote")}>{text("onlyHere")}</span>,
    align: "right",
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
      <Table label={text("differences")} columns={KINDS} rows={kindsOf(differences)} rowKey={({ kind }) => kind} />
      {objects.length === 0 ? (
        <Notice>{text("previewNone")}</Notice>
      ) : (
        <Table label={text("changed")} columns={columnsOf(zone)} rows={objects} rowKey={({ key }) => key} />
      )}
      {unlisted > 0 && <p>{text("more", { count: unlisted })}</p>}
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

function columnsOf(zone: string): readonly Column<ChangedObject>[] {
  return [
    { id: "kind", head: text("kind"), cell: ({ kind }) => text(`kind_${kind}`) },
    { id: "name", head: text("object"), isWide: true, cell: ({ name }) => <bdi title={name}>{name}</bdi> },
    {
      id: "change",
      head: text("change"),
      cell: ({ change }) => <Badge tone={change === "added" ? "good" : "accent"}>{text(change)}</Badge>,
    },
    {
      id: "fields",
      head: text("fields"),
      isWide: true,
      cell: ({ fields }) => {
        const said = Object.entries(fields)
          .map(([name, change]) => {
            const field = fieldLabel(name);
            if (!Array.isArray(change)) return text("fieldSecret", { field });
            const [before, after] = change.map((value) => valueText(value, zone));
            return text("fieldChange", { field, before: before ?? "", after: after ?? "" });
          })
          .join("; ");
        return <bdi title={said}>{said}</bdi>;
      },
    },
  ];
}
