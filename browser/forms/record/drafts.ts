/**
 * What is typed into a form, and what it says as the body of a request. A field that nobody has touched keeps its value to
 * the last digit, whatever its control can show. Pure.
 */
import type * as z from "zod";
import { isRateField } from "../../../shared/fields/rates.ts";
import { instantOf } from "../../time/instants.ts";
import { instantAt, localOf } from "../../time/local-instants.ts";
import type { FieldSpec } from "./field-specs.ts";
import { numberText } from "./number-text.ts";
import { perMillionOf, perMillionText, perOneOf } from "./per-million.ts";

/** The contents of one control: text; on or off; the chosen ones of several; a secret; of kind `value` the value itself. */
export type Typed = unknown;
/** The contents of a secret's control. */
export interface TypedSecret {
  readonly isStored: boolean;
  /** The stored one is taken away. */
  readonly isRemoved: boolean;
  /** A new one; blank: none is given. */
  readonly text: string;
}
/** The contents of a form's controls, by field. */
export type Draft = Readonly<Record<string, Typed>>;
/** A record, or a body, by field. */
export type FieldValues = Readonly<Record<string, unknown>>;
/** What is wrong with each field; under the empty name what concerns no field of the form. */
export type FieldErrors = Readonly<Record<string, string>>;

const NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;

/** The controls as they show a record; a field that it lacks is empty. Times are those of `zone`'s clock. */
export function draftOf(specs: readonly FieldSpec[], record: FieldValues, zone: string): Draft {
  return Object.fromEntries(specs.map((spec) => [spec.name, typedOf(spec, record, zone)]));
}

function typedOf(
  { name, kind, isNullable, choices, setField = "" }: FieldSpec,
  record: FieldValues,
  zone: string,
): Typed {
  const value = record[name];
  switch (kind) {
    case "secret":
      return { isStored: record[setField] === true, isRemoved: false, text: "" } satisfies TypedSecret;
    case "value":
      return value;
    case "flag":
      return value === true;
    case "choices":
      return Array.isArray(value) ? value.map(String) : [];
    case "lines":
      return Array.isArray(value) ? value.map(String).join("\n") : "";
    case "choice":
      // a list without an empty entry shows its first one
      return typeof value === "string" ? value : isNullable ? "" : (choices[0] ?? "");
    case "instant":
      return localOf(zone, typeof value === "string" ? instantOf(value) : null);
    case "text":
    case "long text":
    case "number":
      // what limits nothing is typed as nothing, here as with budgets
      if (value === 0 && isRateField(name)) return "";
      if (typeof value === "number") return perMillionOf(name) === null ? numberText(value) : perMillionText(value);
      return typeof value === "string" ? value : "";
    default:
      return kind satisfies never;
  }
}

/** True when two contents of a control are the same. */
export function isSameTyped(one: Typed, other: Typed): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** False for blanks: a server that trims them would remove the stored secret, another one would store them in its place. */
export function isSecretGiven(given: string): boolean {
  return given.trim() !== "";
}

/** The names of the fields whose controls show something else than `base` says. */
export function touchedFields(
  specs: readonly FieldSpec[],
  base: FieldValues,
  draft: Draft,
  zone: string,
): readonly string[] {
  const shown = draftOf(specs, base, zone);
  return specs
    .filter(({ name, kind }) =>
      kind === "secret" ? isSecretTouched(draft[name] as TypedSecret) : !isSameTyped(draft[name], shown[name]),
    )
    .map(({ name }) => name);
}

function isSecretTouched({ text: given, isRemoved }: TypedSecret): boolean {
  return isRemoved || isSecretGiven(given);
}

/** The values that the controls say (a removed secret is ""; one that is not touched is absent), before they are validated: what is no number or no time stays what no schema accepts. */
export function bodyOf(specs: readonly FieldSpec[], base: FieldValues, draft: Draft, zone: string): FieldValues {
  const touched = new Set(touchedFields(specs, base, draft, zone));
  return Object.fromEntries(
    specs.flatMap((spec) => {
      const { name } = spec;
      if (!touched.has(name) && Object.hasOwn(base, name)) return [[name, base[name]] as const];
      const value = saidValue(spec, draft[name] ?? "", zone);
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
}

function saidValue({ name, kind, isNullable }: FieldSpec, typed: Typed, zone: string): unknown {
  if (kind === "secret") {
    const { text: given, isRemoved } = typed as TypedSecret;
    return isSecretGiven(given) ? given : isRemoved ? "" : undefined;
  }
  if (typeof typed !== "string") return typed;
  const text = typed.trim();
  if (kind === "lines") {
    const lines = text.split("\n").map((line) => line.trim());
    const kept = lines.filter((line) => line !== "");
    return kept.length === 0 && isNullable ? null : kept;
  }
  if (text === "" && isNullable) return null;
  if (kind === "number") {
    if (text === "") return isRateField(name) ? 0 : undefined;
    if (!NUMBER.test(text)) return text;
    return perMillionOf(name) === null ? Number(text) : perOneOf(text);
  }
  if (kind === "choice") return text === "" ? undefined : text;
  if (kind !== "instant") return typed;
  const epochMs = instantAt(zone, text);
  return epochMs === null ? text : new Date(epochMs).toISOString();
}

/**
 * What of a body is sent where the server keeps what is left out: the touched fields, and those that the record lacks, as
 * their controls show them; the server would give these a default that nobody has seen.
 */
export function changedBody(specs: readonly FieldSpec[], base: FieldValues, draft: Draft, zone: string): FieldValues {
  const touched = new Set(touchedFields(specs, base, draft, zone));
  const isShownAnew = (name: string): boolean => !Object.hasOwn(base, name) && draft[name] !== undefined;
  const said = Object.entries(bodyOf(specs, base, draft, zone));
  return Object.fromEntries(said.filter(([name]) => touched.has(name) || isShownAnew(name)));
}

/**
 * The touched fields that say nothing where something is needed, such as a number that was emptied: their body would keep the
 * stored value, or get a default that nobody has typed.
 */
export function emptiedFields(
  specs: readonly FieldSpec[],
  base: FieldValues,
  draft: Draft,
  zone: string,
): readonly string[] {
  const said = bodyOf(specs, base, draft, zone);
  return touchedFields(specs, base, draft, zone).filter((name) => !Object.hasOwn(said, name));
}

/** The fields of a saved body as they were before; what the record lacked is null. */
export function undoBody(body: FieldValues, base: FieldValues): FieldValues {
  return Object.fromEntries(Object.keys(body).map((field) => [field, base[field] ?? null]));
}

/** The first error of each field. Errors of fields that the form does not show stand under the empty name, with their field. */
export function errorsOf(issues: readonly z.core.$ZodIssue[], shown: readonly string[]): FieldErrors {
  const errors = new Map<string, string>();
  for (const { path, message } of issues) {
    const name = String(path[0] ?? "");
    const at = shown.includes(name) ? name : "";
    const text = at === "" && path.length > 0 ? `${path.join(".")} ${message}` : message;
    if (!errors.has(at)) errors.set(at, text);
  }
  return Object.fromEntries(errors);
}

/** The error that a server has told, at its field; `param` is a path such as `policy.guard_model`. */
export function serverErrors(param: string | null, message: string, shown: readonly string[]): FieldErrors {
  const names = (param ?? "").split(/[.[\]]/);
  return { [names.find((name) => shown.includes(name)) ?? ""]: message };
}

/** The errors that are left once a field is typed into again; what concerns no field is left out too. */
export function errorsWithout(errors: FieldErrors, field: string): FieldErrors {
  return Object.fromEntries(Object.entries(errors).filter(([name]) => name !== field && name !== ""));
}
