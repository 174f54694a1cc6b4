import { useId } from "react";
import { CheckField, Field, SelectField, TextArea, TextField } from "../../ui/fields.tsx";
import type { Typed } from "./drafts.ts";
import type { FieldSpec } from "./field-specs.ts";
import { choiceLabel, fieldHint, fieldLabel } from "./field-words.ts";
import classes from "./record-form.module.css";

interface FieldControlProps {
  readonly spec: FieldSpec;
  readonly typed: Typed;
  readonly error: string | undefined;
  readonly onType: (typed: Typed) => void;
  /** By whose clock times are typed. */
  readonly zone: string;
  /** Values that are offered while typing; others can be typed too. */
  readonly offered?: readonly string[] | undefined;
}

/** The control of one field. */
export function FieldControl({ spec, typed, error, onType, zone, offered }: FieldControlProps) {
  const { name, kind, choices, isNullable } = spec;
  const list = useId();
  const label = fieldLabel(name);
  const hint = fieldHint(name);
  const shared = { label, ...(hint === undefined ? {} : { hint }), error, name };
  const value = typeof typed === "string" ? typed : "";
  switch (kind) {
    case "flag":
      return (
        <CheckField
          label={label}
          {...(hint === undefined ? {} : { hint })}
          checked={typed === true}
          onChange={(event) => onType(event.target.checked)}
        />
      );
    case "choice":
      return (
        <SelectField
          {...shared}
          value={value}
          onChange={(event) => onType(event.target.value)}
          choices={(isNullable ? ["", ...choices] : choices).map((one) => ({ value: one, label: choiceLabel(one) }))}
        />
      );
    case "choices": {
      const chosen = Array.isArray(typed) ? (typed as readonly string[]) : [];
      return (
        <fieldset className={classes["choices"]}>
          <legend>{label}</legend>
          {choices.map((one) => (
            <CheckField
              key={one}
              label={choiceLabel(one)}
              checked={chosen.includes(one)}
              onChange={(event) =>
                onType(choices.filter((each) => (each === one ? event.target.checked : chosen.includes(each))))
              }
            />
          ))}
          {error !== undefined && <p role="alert">{error}</p>}
        </fieldset>
      );
    }
    case "lines":
    case "long text":
      return (
        <TextArea
          {...shared}
          rows={kind === "lines" ? 6 : 3}
          spellCheck={kind === "long text"}
          dir="auto"
          value={value}
          onChange={(event) => onType(event.target.value)}
        />
      );
    case "instant":
      return (
        <Field {...shared} hint={hint === undefined ? zone : `${hint} (${zone})`}>
          {(control) => (
            <input
              {...control}
              className={classes["instant"]}
              type="datetime-local"
              step={1}
              value={value}
              onChange={(event) => onType(event.target.value)}
            />
          )}
        </Field>
      );
    case "value":
      return null;
    case "text":
    case "number":
      return (
        <>
          <TextField
            {...shared}
            {...(kind === "number" ? { inputMode: "decimal" as const } : { dir: "auto" })}
            autoComplete="off"
            list={offered === undefined ? undefined : list}
            value={value}
            onChange={(event) => onType(event.target.value)}
          />
          {offered !== undefined && (
            <datalist id={list}>
              {offered.map((one) => (
                <option key={one} value={one} />
              ))}
            </datalist>
          )}
        </>
      );
    default:
      return kind satisfies never;
  }
}
