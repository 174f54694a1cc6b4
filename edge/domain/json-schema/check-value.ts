/**
 * Whether a model's text is the JSON that a client has asked for (docs/rules/boons.md#structured-output). A schema that
 * cannot be used, or would take too long, leaves the check of the syntax.
 */
import type { Steps } from "../../../shared/steps.ts";
import { jsonObjectOf } from "../wire/json/document.ts";
import { type BoundedSchema, boundedSchema, SCHEMA_MAX_CHARS, type ValueSize } from "./bounded-schema.ts";
import { extractJson, withoutReasoning } from "./extract-json.ts";
import type { RequestedFormat } from "./requested-format.ts";

/** Most problems that are reported, and the longest text of one. */
const PROBLEMS_MAX = 8;
const PROBLEM_MAX_CHARS = 300;
/** Work for a value that is measured, in units. */
const VALUE_UNITS = 12;
/** Entries of a list that are taken up without a step. */
const ENTRIES = 4 * 1024;
/** A validation takes most of a turn. */
const VALIDATION_UNITS = 16 * 1024;

/** A finding of a validator: `instanceLocation` is a JSON pointer with # before it. */
interface SchemaError {
  readonly instanceLocation: string;
  readonly keyword: string;
  readonly error: string;
}

/**
 * Validates a value by JSON Schema, draft 2020-12. Reads every node that it visits as an object, reads each keyword of it once,
 * and rethrows errors of these reads. Also throws when a reference of the schema leads nowhere.
 */
export type SchemaValidator = (schema: BoundedSchema, value: unknown) => readonly SchemaError[];

/** The verdict on a text. */
export type CheckedText =
  /** `text`: the value in compact JSON, as it was written. */
  | { readonly kind: "valid"; readonly text: string }
  /** Sentences for the model that repairs it. */
  | { readonly kind: "invalid"; readonly problems: readonly string[] };

/** Errors that only say that there is another one within. */
const OUTER = new Set([
  "$ref",
  "allOf",
  "dependentSchemas",
  "false",
  "if",
  "items",
  "patternProperties",
  "prefixItems",
]);

/** Looks for the last complete value in `text` that conforms; without a schema, for the last object. */
export function* checkText(
  text: string,
  { schema, json }: RequestedFormat,
  validate: SchemaValidator,
): Steps<CheckedText> {
  const { values, problem } = yield* extractJson(withoutReasoning(text));
  if (schema === null) {
    const found = values.find(({ value }) => jsonObjectOf(value) !== null) ?? values[0];
    return found === undefined ? { kind: "invalid", problems: [problem] } : { kind: "valid", text: found.text };
  }
  let problems: readonly string[] | null = null;
  for (const found of values) {
    const own = json.length > SCHEMA_MAX_CHARS ? [] : yield* problemsOf(found.value, schema, validate);
    if (own.length === 0) return { kind: "valid", text: found.text };
    problems ??= own;
  }
  return { kind: "invalid", problems: problems ?? [problem] };
}

function* problemsOf(value: unknown, schema: unknown, validate: SchemaValidator): Steps<readonly string[]> {
  const size = yield* sizeOf(value);
  yield VALIDATION_UNITS;
  if (size === null) return ["A property name is not well-formed Unicode."];
  const bounded = boundedSchema(schema, size);
  if (bounded === null) return [];
  try {
    return told(validate(bounded, value));
  } catch {
    // References in a circle or to nowhere, a pattern that is not one, too much work: the syntax is all that was checked.
    return [];
  }
}

/** The first problems, each with its place. */
function told(errors: readonly SchemaError[]): readonly string[] {
  const inner = errors.filter(({ keyword }) => !OUTER.has(keyword) && keyword !== "properties");
  return (inner.length > 0 ? inner : errors).slice(0, PROBLEMS_MAX).map(({ instanceLocation, error }) => {
    const place = instanceLocation === "#" ? "the value" : instanceLocation.slice(1, 1 + PROBLEM_MAX_CHARS);
    return `At ${place}: ${error}`.slice(0, PROBLEM_MAX_CHARS).toWellFormed();
  });
}

/** Null: a name in it is not well-formed, and cannot be part of a pointer. */
function* sizeOf(value: unknown): Steps<ValueSize | null> {
  const size = { text: 0, list: 0, members: 0, nameChars: 0, nodes: 0 };
  const waiting: unknown[] = [value];
  while (waiting.length > 0) {
    const next = waiting.pop();
    size.nodes += 1;
    yield VALUE_UNITS;
    if (typeof next === "string") size.text = Math.max(size.text, next.length);
    else if (Array.isArray(next)) {
      size.list = Math.max(size.list, next.length);
      for (const entry of next) {
        if (waiting.push(entry) % ENTRIES === 0) yield ENTRIES;
      }
    } else {
      const members = Object.entries(jsonObjectOf(next) ?? {});
      if (!members.every(([name]) => name.isWellFormed())) return null;
      size.members = Math.max(size.members, members.length);
      size.nameChars = Math.max(
        size.nameChars,
        members.reduce((sum, [name]) => sum + name.length, 0),
      );
      for (const [, member] of members) waiting.push(member);
    }
  }
  // The names of an object are texts for the keyword that checks them.
  return { ...size, text: Math.max(size.text, size.nameChars) };
}
