/**
 * Finds in a proposed body what the Management API would leave out without a word (docs/rules/assistant.md#tools): a person
 * would be shown what does not happen. Pure.
 */
import type { JsonSchema } from "./operations.ts";

type Fields = Readonly<Record<string, unknown>>;

/**
 * The path of the first field, at any depth, that `schema` does not know, such as `policy.scanners[0].kind`; null: it knows
 * all. Where a value fits several choices, each of them must know its fields: which one is taken is not known here.
 */
export function unknownField(schema: JsonSchema, value: unknown): string | null {
  return unknownAt([schema], value, "");
}

/** `schemas` hold together. */
function unknownAt(schemas: readonly JsonSchema[], value: unknown, path: string): string | null {
  if (typeof value !== "object" || value === null) return null;
  const together = schemas.flatMap(withAllOf);
  const open = together.findIndex((one) => Array.isArray(one["anyOf"]));
  if (open !== -1) {
    const { anyOf, ...rest } = together[open] as JsonSchema;
    return firstOf(choicesOf(anyOf), (choice) =>
      fits(choice, value) ? unknownAt([...together.with(open, rest), choice], value, path) : null,
    );
  }
  if (together.some((one) => one["not"] !== undefined)) return path === "" ? "(all)" : path;
  if (Array.isArray(value)) {
    const items = together.flatMap((one) => schemaIn(one["items"]));
    return firstOf(value, (item: unknown, at) => unknownAt(items, item, `${path}[${at}]`));
  }
  const isBound = together.some((one) => isFields(one["properties"]) || one["additionalProperties"] !== undefined);
  if (!isBound) return null;
  return firstOf(Object.entries(value), ([name, inner]) => {
    const at = path === "" ? name : `${path}.${name}`;
    const known = together.flatMap((one) => schemaOfField(one, name));
    return known.length === 0 ? at : unknownAt(known, inner, at);
  });
}

/** What a schema says of one field; nothing: it does not know it. */
function schemaOfField(schema: JsonSchema, name: string): readonly JsonSchema[] {
  const properties = schema["properties"];
  if (isFields(properties) && Object.hasOwn(properties, name)) return schemaIn(properties[name]);
  // As the name of an entry of a map it gets lost on the way.
  return name === "__proto__" ? [] : schemaIn(schema["additionalProperties"]);
}

/** False only for a value that the schema surely refuses. */
function fits(schema: JsonSchema, value: unknown): boolean {
  const { type, const: only, enum: some, anyOf, required, properties } = schema;
  const types = (Array.isArray(type) ? type : [type]) as readonly unknown[];
  if (type !== undefined && !types.includes(typeOf(value)) && !(types.includes("integer") && Number.isInteger(value)))
    return false;
  if (Object.hasOwn(schema, "const") && isPlain(only) && only !== value) return false;
  if (Array.isArray(some) && some.every(isPlain) && !some.includes(value)) return false;
  if (!choicesOf(schema["allOf"]).every((one) => fits(one, value))) return false;
  if (Array.isArray(anyOf) && !choicesOf(anyOf).some((one) => fits(one, value))) return false;
  if (!isFields(value)) return true;
  if (Array.isArray(required) && required.some((name) => typeof name === "string" && !Object.hasOwn(value, name)))
    return false;
  return Object.entries(isFields(properties) ? properties : {}).every(
    ([name, inner]) => !Object.hasOwn(value, name) || !isFields(inner) || fits(inner, value[name]),
  );
}

function withAllOf(schema: JsonSchema): readonly JsonSchema[] {
  return [schema, ...choicesOf(schema["allOf"]).flatMap(withAllOf)];
}

function choicesOf(value: unknown): readonly JsonSchema[] {
  return Array.isArray(value) ? value.filter(isFields) : [];
}

/** True stands for a schema that takes everything. */
function schemaIn(value: unknown): readonly JsonSchema[] {
  return isFields(value) ? [value] : value === true ? [{}] : [];
}

function firstOf<Item>(items: readonly Item[], problemOf: (item: Item, at: number) => string | null): string | null {
  for (const [at, item] of items.entries()) {
    const problem = problemOf(item, at);
    if (problem !== null) return problem;
  }
  return null;
}

function typeOf(value: unknown): string {
  return value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
}

function isPlain(value: unknown): boolean {
  return typeof value !== "object" || value === null;
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
