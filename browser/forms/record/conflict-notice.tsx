import { fieldTexts } from "../../messages/en/fields.ts";
import { texts } from "../../messages/texts.ts";
import { Button } from "../../ui/button.tsx";
import { Row } from "../../ui/layout.tsx";
import { Notice } from "../../ui/states.tsx";
import type { FieldChange } from "./conflicts.ts";
import type { FieldValues } from "./drafts.ts";
import { fieldLabel, valueText } from "./field-words.ts";
import classes from "./record-form.module.css";

const text = texts("fields", fieldTexts);

interface ConflictNoticeProps {
  readonly changes: readonly FieldChange[];
  /** What the form says now. */
  readonly yours: FieldValues;
  readonly zone: string;
  readonly onKeep: () => void;
  readonly onTake: () => void;
}

/** Tells that somebody else has changed what is edited here, field by field, and lets one choose. */
export function ConflictNotice({ changes, yours, zone, onKeep, onTake }: ConflictNoticeProps) {
  return (
    <Notice tone="warn">
      <strong>{text("conflictTitle")}</strong>
      <div className={classes["scroll"]}>
        <table className={classes["difference"]}>
          <thead>
            <tr>
              {(["conflictField", "conflictBefore", "conflictNow", "conflictYours"] as const).map((id) => (
                <th key={id} scope="col">
                  {text(id)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {changes.map(({ name, before, now }) => (
              <tr key={name}>
                <th scope="row">{fieldLabel(name)}</th>
                {[before, now, yours[name]].map((value, index) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: the three columns never change their order
                  <td key={index} dir="auto">
                    {valueText(name, value, zone)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Row>
        <Button onClick={onKeep}>{text("conflictKeep")}</Button>
        <Button onClick={onTake}>{text("conflictTake")}</Button>
      </Row>
    </Notice>
  );
}
