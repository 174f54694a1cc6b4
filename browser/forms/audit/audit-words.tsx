/** An entry of the audit log in words. */
import type { Records } from "../../data/api.ts";
import { TargetLink } from "../../links/target-link.tsx";
import { auditTexts } from "../../messages/en/audit.ts";
import { texts } from "../../messages/texts.ts";
import { auditTarget } from "./audit-target.ts";
import classes from "./audit-words.module.css";

const text = texts("audit", auditTexts);

export type AuditEntry = Records["AuditEntry"];

/** What tenants and keys are called now, by id. */
export type ObjectNames = ReadonlyMap<string, string>;

const UUID = /^[0-9a-f]{8}-[0-9a-f-]{27}$/;
const NAME_FIELDS = ["name", "email", "model_name"];

/** The name of a kind of object; one that is not known is called as the API calls it. */
export function kindText(kind: string): string {
  const id = `kind_${kind}`;
  return Object.hasOwn(auditTexts, id) ? text(id as keyof typeof auditTexts) : kind;
}

/** The object of an entry with its kind, and a link to it where a page shows it. */
export function ObjectLink({ entry, names }: { readonly entry: AuditEntry; readonly names: ObjectNames }) {
  const target = auditTarget(entry);
  const name = objectName(entry, names);
  const kind = kindText(entry.entity_type);
  // of the gateway there is one, which has no other name
  if (name === entry.entity_type) return kind;
  const said = (
    <bdi className={classes["name"]} title={entry.entity_id}>
      {name}
    </bdi>
  );
  return (
    <span className={classes["object"]}>
      {kind} {target === null ? said : <TargetLink target={target}>{said}</TargetLink>}
    </span>
  );
}

/** What the object is called now, else what the entry calls it, else the beginning of the id. */
function objectName({ entity_id, detail }: AuditEntry, names: ObjectNames): string {
  const known = names.get(entity_id);
  if (known !== undefined && known !== "") return known;
  for (const field of NAME_FIELDS) {
    const name = detail[field];
    if (typeof name === "string" && name !== "") return name;
  }
  return UUID.test(entity_id) ? `${entity_id.slice(0, 8)}…` : entity_id;
}
