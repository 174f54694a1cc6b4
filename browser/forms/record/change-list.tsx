/** What a form will change when it is saved: old and new of each field. */
import { fieldTexts } from "../../messages/en/fields.ts";
import { texts } from "../../messages/texts.ts";
import { type Draft, type FieldValues, type TypedSecret, touchedFields } from "./drafts.ts";
import type { FieldSpec } from "./field-specs.ts";
import { fieldLabel, valueText } from "./field-words.ts";
import classes from "./record-form.module.css";

const text = texts("fields", fieldTexts);

interface ChangeListProps {
  readonly specs: readonly FieldSpec[];
  readonly base: FieldValues;
  readonly draft: Draft;
  /** What the controls say. */
  readonly values: FieldValues;
  readonly zone: string;
}

export function ChangeList({ specs, base, draft, values, zone }: ChangeListProps) {
  const touched = new Set(touchedFields(specs, base, draft, zone));
  const changed = specs.filter(({ name }) => touched.has(name));
  if (changed.length === 0) return null;
  return (
    <section className={classes["changes"]} aria-label={text("changes")}>
      <h3>{text("changes")}</h3>
      <ul>
        {changed.map(({ name, kind, label }) => (
          <li key={name}>
            <span>{label ?? fieldLabel(name)}</span>{" "}
            {kind === "secret" ? (
              <b>{text((draft[name] as TypedSecret).isRemoved ? "secretGoes" : "secretComes")}</b>
            ) : (
              <>
                <s dir="auto">{valueText(name, base[name], zone)}</s> →{" "}
                <b dir="auto">{valueText(name, values[name], zone)}</b>
              </>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
