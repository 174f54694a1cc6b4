import { Fragment, type ReactNode, useEffect, useId } from "react";
import { fieldTexts } from "../../messages/en/fields.ts";
import { texts } from "../../messages/texts.ts";
import { CheckField, Field, SelectField, TextArea, TextField } from "../../ui/fields.tsx";
import { Fold } from "../../ui/fold.tsx";
import { type Draft, type FieldErrors, isSecretGiven, type Typed, type TypedSecret } from "./drafts.ts";
import type { FieldSpec } from "./field-specs.ts";
import { choiceLabel, fieldHint, fieldLabel, quantityText } from "./field-words.ts";
import classes from "./record-form.module.css";

const text = texts("fields", fieldTexts);

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

/** A control that a form brings along for one of its fields. */
export type OwnControl = (own: {
  readonly typed: Typed;
  readonly onType: (typed: Typed) => void;
  readonly error: string | undefined;
}) => ReactNode;

interface FormFieldsProps {
  readonly specs: readonly FieldSpec[];
  readonly draft: Draft;
  readonly errors: FieldErrors;
  readonly onType: (field: string, typed: Typed) => void;
  readonly zone: string;
  /** Values that are offered while typing, by field. */
  readonly offered?: Readonly<Record<string, readonly string[]>> | undefined;
  readonly controls?: Readonly<Record<string, OwnControl>> | undefined;
  /** What stands above a field as the heading of it and those that follow. */
  readonly headings?: Readonly<Record<string, string>> | undefined;
  /** This field and those after it are optional: they are folded below its heading until one of them has an error. */
  readonly foldFrom?: string | undefined;
}

/** Forms with fewer parts fit in a window. */
const JUMPS_MIN = 4;

/** The controls of all fields of a form. */
export function FormFields(props: FormFieldsProps) {
  const { specs, errors, headings = {}, foldFrom } = props;
  const at = specs.findIndex(({ name }) => name === foldFrom);
  const folded = at === -1 ? [] : specs.slice(at);
  const parts = Object.entries(headings);
  return (
    <div className={classes["fields"]}>
      {parts.length >= JUMPS_MIN && (
        <nav className={classes["jumps"]} aria-label={text("parts")}>
          {parts.map(([name, heading]) => (
            <button
              key={name}
              type="button"
              onClick={() => {
                const part = document.getElementById(partId(name));
                part?.scrollIntoView();
                part?.focus({ preventScroll: true });
              }}
            >
              {heading}
            </button>
          ))}
        </nav>
      )}
      <Controls {...props} specs={at === -1 ? specs : specs.slice(0, at)} />
      {foldFrom !== undefined && (
        <Fold
          id={partId(foldFrom)}
          title={headings[foldFrom]}
          isNeeded={folded.some(({ name }) => errors[name] !== undefined)}
        >
          <div className={classes["fields"]}>
            <Controls {...props} specs={folded} />
          </div>
        </Fold>
      )}
    </div>
  );
}

const partId = (first: string): string => `part-${first}`;

/** Opens a form at the part that begins with a field. */
export function useOpenPart(first: string | undefined): void {
  useEffect(() => {
    if (first !== undefined) document.getElementById(partId(first))?.scrollIntoView();
  }, [first]);
}

function Controls({ specs, draft, errors, onType, zone, offered, controls, headings, foldFrom }: FormFieldsProps) {
  return specs.map((spec) => {
    const { name } = spec;
    const own = {
      typed: draft[name],
      error: errors[name],
      onType: (typed: Typed): void => onType(name, typed),
    };
    const control = controls?.[name];
    return (
      <Fragment key={name}>
        {headings?.[name] !== undefined && name !== foldFrom && (
          <h3 className={classes["whole"]} id={partId(name)} tabIndex={-1}>
            {headings[name]}
          </h3>
        )}
        {control === undefined ? (
          <FieldControl spec={spec} {...own} zone={zone} offered={offered?.[name]} />
        ) : (
          <div className={classes["whole"]}>{control(own)}</div>
        )}
      </Fragment>
    );
  });
}

function FieldControl({ spec, typed, error, onType, zone, offered }: FieldControlProps) {
  const { name, kind, choices, isNullable } = spec;
  const list = useId();
  const label = spec.label ?? fieldLabel(name);
  const known = spec.hint ?? fieldHint(name);
  const said = kind === "number" ? quantityText(name, Number(typed)) : undefined;
  // "15 s" says no more than the 15 that is typed
  const quantity = said?.startsWith(`${String(typed)} `) ? undefined : said;
  const hint = quantity === undefined ? known : `${quantity}${known === undefined ? "" : `. ${known}`}`;
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
          choices={(isNullable ? ["", ...choices] : choices).map((one) => ({
            value: one,
            label: one === "" && spec.none !== undefined ? spec.none : choiceLabel(one),
          }))}
        />
      );
    case "choices": {
      const chosen = Array.isArray(typed) ? (typed as readonly string[]) : [];
      return (
        <fieldset className={classes["choices"]}>
          <legend>{label}</legend>
          {choices.length === 0 && choiceLabel("")}
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
          rows={3}
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
    case "secret":
      return <SecretControl {...shared} typed={typed as TypedSecret} onType={onType} />;
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

interface SecretControlProps {
  readonly label: string;
  readonly hint?: string;
  readonly error: string | undefined;
  readonly name: string;
  readonly typed: TypedSecret;
  readonly onType: (typed: TypedSecret) => void;
}

/** A secret is typed, or the stored one is taken away; nobody sees the stored one. */
function SecretControl({ hint, typed, onType, ...field }: SecretControlProps) {
  const { isStored, isRemoved } = typed;
  const state = text(isRemoved ? "secretRemoved" : isStored ? "secretStored" : "secretNone");
  return (
    <div>
      <TextField
        {...field}
        hint={hint === undefined ? state : `${state} ${hint}`}
        type="password"
        autoComplete="new-password"
        value={typed.text}
        onChange={(event) => onType({ ...typed, text: event.target.value, isRemoved: false })}
      />
      {isStored && !isSecretGiven(typed.text) && (
        <CheckField
          label={text("secretRemove")}
          checked={isRemoved}
          onChange={(event) => onType({ ...typed, isRemoved: event.target.checked })}
        />
      )}
    </div>
  );
}
