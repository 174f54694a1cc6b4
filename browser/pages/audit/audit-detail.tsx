import { actionText } from "../../forms/audit/action-words.ts";
import { type AuditEntry, ObjectLink, type ObjectNames } from "../../forms/audit/audit-words.tsx";
import { withNames } from "../../forms/audit/with-names.ts";
import { Difference } from "../../forms/history/difference.tsx";
import { auditTexts } from "../../messages/en/audit.ts";
import { texts } from "../../messages/texts.ts";
import { formatInstant, instantOf } from "../../time/instants.ts";
import { useZone } from "../../time/zone-context.tsx";
import { Button } from "../../ui/button.tsx";
import { formatText } from "../../ui/format.ts";
import { Facts, Row } from "../../ui/layout.tsx";

const text = texts("audit", auditTexts);

interface AuditDetailProps {
  readonly entry: AuditEntry;
  readonly names: ObjectNames;
  /** Narrows the list. */
  readonly onFilter: (filter: {
    readonly entity_id: string;
    readonly actor?: undefined;
    readonly action?: undefined;
  }) => void;
}

/** One change: who, when, from where, and every field with its old and new value. */
export function AuditDetail({ entry, names, onFilter }: AuditDetailProps) {
  const { ts, actor, address, action, entity_id, detail } = entry;
  const { zone } = useZone();
  return (
    <>
      <Facts
        facts={[
          [text("when"), formatInstant(zone, instantOf(ts), "ms")],
          [text("who"), <bdi key="who">{actor}</bdi>],
          [text("from"), formatText(address)],
          [text("what"), actionText(action)],
          [text("object"), <ObjectLink key="object" entry={entry} names={names} />],
          [text("objectId"), <code key="id">{entity_id}</code>],
        ]}
      />
      <Difference detail={withNames(detail, names)} zone={zone} />
      <Row>
        <Button onClick={() => onFilter({ entity_id, actor: undefined, action: undefined })}>{text("onlyThis")}</Button>
      </Row>
    </>
  );
}
