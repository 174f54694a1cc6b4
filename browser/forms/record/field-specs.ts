/**
 * How each field of a form is typed in, from the table of a resource's fields (shared/fields;
 * docs/rules/console.md#forms). Pure.
 */
import * as z from "zod";

/** How one field is typed in. */
export interface FieldSpec {
  readonly name: string;
  readonly kind:
    | "text"
    /** Several lines. */
    | "long text"
    | "number"
    | "flag"
    /** One of `choices`. */
    | "choice"
    /** Any of `choices`. */
    | "choices"
    /** A list of texts, one a line. */
    | "lines"
    /** A point in time, typed by the clock of a zone. */
    | "instant"
    /** What is never shown: it is replaced, removed, or stays. */
    | "secret"
    /** Anything, by a control of its own. */
    | "value";
  /** Nothing typed means null. */
  readonly isNullable: boolean;
  readonly choices: readonly string[];
  /** What it is called here, in place of the name of every field of this name. */
  readonly label?: string;
  /** What is said below it here, in place of what is said of every field of this name. */
  readonly hint?: string;
  /** What the choice of none is called here. */
  readonly none?: string;
  /** Of a secret: the field of the record that says whether one is stored. */
  readonly setField?: string;
}

/** What the table says of a field. */
interface TableField {
  readonly column?: string;
  readonly value: z.ZodType;
}

/** Fields that hold sentences. */
const LONG_TEXTS: ReadonlySet<string> = new Set([
  "description",
  "vision_describe_prompt",
  "tool_loop_nudge",
  "power_query",
]);

/**
 * The controls of the fields that a body has, in the order of the body. Fields that are typed in neither as a text nor as a
 * choice (windows, policies) are left out: they have forms of their own.
 */
export function fieldSpecs(
  bodyFields: Iterable<string>,
  table: Readonly<Record<string, TableField>>,
): readonly FieldSpec[] {
  return [...bodyFields].flatMap((name) => {
    const field = Object.hasOwn(table, name) ? table[name] : undefined;
    const spec = field === undefined ? null : fieldSpec(name, field);
    return spec === null ? [] : [spec];
  });
}

/** A field whose control the form brings along. */
export function valueSpec(name: string): FieldSpec {
  return { name, kind: "value", isNullable: false, choices: [] };
}

/** A secret of a body; `setField` of the record says whether one is stored. */
export function secretSpec(name: string, setField: string): FieldSpec {
  return { name, kind: "secret", isNullable: false, choices: [], setField };
}

/** The controls of an object's fields, such as a policy's. */
export function objectSpecs({ shape }: z.ZodObject): readonly FieldSpec[] {
  const fields = Object.entries(shape).map(([name, value]) => [name, { value: value as z.ZodType }] as const);
  return fieldSpecs(Object.keys(shape), Object.fromEntries(fields));
}

function fieldSpec(name: string, { column, value: given }: TableField): FieldSpec | null {
  const value: unknown = given instanceof z.ZodDefault || given instanceof z.ZodOptional ? given.unwrap() : given;
  const isNullable = value instanceof z.ZodNullable;
  const inner: unknown = isNullable ? value.unwrap() : value;
  const spec = (kind: FieldSpec["kind"], choices: readonly string[] = []): FieldSpec => ({
    name,
    kind,
    isNullable,
    choices,
  });
  if (column === "instant") return spec("instant");
  if (inner instanceof z.ZodEnum) return spec("choice", inner.options.map(String));
  if (inner instanceof z.ZodBoolean) return spec("flag");
  if (inner instanceof z.ZodNumber) return spec("number");
  if (inner instanceof z.ZodString) return spec(LONG_TEXTS.has(name) ? "long text" : "text");
  if (!(inner instanceof z.ZodArray)) return null;
  const element: unknown = inner.element;
  if (element instanceof z.ZodEnum) return spec("choices", element.options.map(String));
  return element instanceof z.ZodString ? spec("lines") : null;
}
