import { type ComponentProps, type ReactNode, useId } from "react";
import { classNames } from "./class-names.ts";
import classes from "./fields.module.css";

interface Labelled {
  readonly label: ReactNode;
  /** What a person should know before typing. */
  readonly hint?: ReactNode;
  /** What is wrong, and how to mend it; absent: nothing is. */
  readonly error?: string | undefined;
  /** The label is read out only, where the place says it already. */
  readonly isLabelHidden?: boolean;
}

interface Described {
  readonly id: string;
  readonly "aria-describedby": string | undefined;
  readonly "aria-invalid": true | undefined;
}

/** Label, hint and error around one control; the control gets the attributes that bind them together. */
export function Field({
  label,
  hint,
  error,
  isLabelHidden = false,
  children,
}: Labelled & { readonly children: (control: Described) => ReactNode }) {
  const id = useId();
  const described = [hint === undefined ? "" : `${id}-hint`, error === undefined ? "" : `${id}-error`]
    .filter(Boolean)
    .join(" ");
  return (
    <div className={classes["field"]}>
      <label htmlFor={id} className={isLabelHidden ? classes["hidden"] : classes["label"]}>
        {label}
      </label>
      {children({
        id,
        "aria-describedby": described === "" ? undefined : described,
        "aria-invalid": error === undefined ? undefined : true,
      })}
      {hint !== undefined && (
        <p id={`${id}-hint`} className={classes["hint"]}>
          {hint}
        </p>
      )}
      {error !== undefined && (
        <p id={`${id}-error`} className={classes["error"]} role="alert">
          {error}
        </p>
      )}
    </div>
  );
}

/** One line of text, a number, a date: what `type` says. */
export function TextField({
  label,
  hint,
  error,
  isLabelHidden,
  className,
  ...input
}: Labelled & ComponentProps<"input">) {
  return (
    <Field {...{ label, hint, error, ...(isLabelHidden === undefined ? {} : { isLabelHidden }) }}>
      {(control) => <input {...input} {...control} className={classNames(classes["control"], className)} />}
    </Field>
  );
}

/** Several lines of text. */
export function TextArea({
  label,
  hint,
  error,
  isLabelHidden,
  className,
  ...input
}: Labelled & ComponentProps<"textarea">) {
  return (
    <Field {...{ label, hint, error, ...(isLabelHidden === undefined ? {} : { isLabelHidden }) }}>
      {(control) => (
        <textarea
          rows={4}
          {...input}
          {...control}
          className={classNames(classes["control"], classes["area"], className)}
        />
      )}
    </Field>
  );
}

export interface Choice {
  readonly value: string;
  readonly label: string;
}

/** One of a few choices. */
export function SelectField({
  label,
  hint,
  error,
  isLabelHidden,
  choices,
  className,
  ...select
}: Labelled & ComponentProps<"select"> & { readonly choices: readonly Choice[] }) {
  return (
    <Field {...{ label, hint, error, ...(isLabelHidden === undefined ? {} : { isLabelHidden }) }}>
      {(control) => (
        <select {...select} {...control} className={classNames(classes["control"], className)}>
          {choices.map(({ value, label: text }) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** On or off, at once. */
export function CheckField({
  label,
  hint,
  ...input
}: { readonly label: ReactNode; readonly hint?: ReactNode } & Omit<ComponentProps<"input">, "type">) {
  const id = useId();
  return (
    <div className={classes["check"]}>
      <input {...input} type="checkbox" id={id} aria-describedby={hint === undefined ? undefined : `${id}-hint`} />
      <label htmlFor={id}>{label}</label>
      {hint !== undefined && (
        <p id={`${id}-hint`} className={classes["hint"]}>
          {hint}
        </p>
      )}
    </div>
  );
}
