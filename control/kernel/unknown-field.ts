/** Finds in a body the fields that its schema does not know. Pure. */
import { fits, isFields, type JsonSchema, propertiesOf, schemasIn } from "./json-schema.ts";

type Path = readonly (string | number)[];

/** A field that a schema does not know, and the names that it knows in that place. */
interface UnknownField {
  readonly path: Path;
  readonly known: readonly string[];
}

/**
 * The fields, at any depth, that `schema` does not know. Where a value fits several choices, each of them must know its
 * fields, because it is not known here which one is taken.
 */
export function unknownFields(schema: JsonSchema, value: unknown): Iterable<UnknownField> {
  return unknownAt([schema], value, []);
}

/** `schemas` hold together. */
function* unknownAt(schemas: readonly JsonSchema[], value: unknown, path: Path): Generator<UnknownField> {
  // Without a schema nothing is unknown: so the depth of a walk is that of the schema, however deep a body is.
  if (schemas.length === 0 || typeof value !== "object" || value === null) return;
  const together = schemas.flatMap(withAllOf);
  const open = together.findIndex((one) => Array.isArray(one["anyOf"]));
  if (open !== -1) {
    const { anyOf, ...rest } = together[open] as JsonSchema;
    for (const choice of schemasIn(anyOf))
      if (fits(choice, value)) yield* unknownAt([...together.with(open, rest), choice], value, path);
    return;
  }
  if (together.some((one) => one["not"] !== undefined)) yield { path, known: [] };
  else if (Array.isArray(value)) {
    const items = together.flatMap((one) => schemaIn(one["items"]));
    for (const [at, item] of value.entries()) yield* unknownAt(items, item, [...path, at]);
  } else if (together.some((one) => isFields(one["properties"]) || one["additionalProperties"] !== undefined))
    for (const [name, inner] of Object.entries(value)) {
      const known = together.flatMap((one) => schemaOfField(one, name));
      if (known.length > 0) yield* unknownAt(known, inner, [...path, name]);
      else yield { path: [...path, name], known: together.flatMap((one) => Object.keys(propertiesOf(one))) };
    }
}

/** What a schema says of one field; nothing: it does not know it. */
function schemaOfField(schema: JsonSchema, name: string): readonly JsonSchema[] {
  const properties = schema["properties"];
  if (isFields(properties) && Object.hasOwn(properties, name)) return schemaIn(properties[name]);
  // As the name of an entry of a map it gets lost on the way.
  return name === "__proto__" ? [] : schemaIn(schema["additionalProperties"]);
}

function withAllOf(schema: JsonSchema): readonly JsonSchema[] {
  return [schema, ...schemasIn(schema["allOf"]).flatMap(withAllOf)];
}

/** True stands for a schema that takes everything. */
function schemaIn(value: unknown): readonly JsonSchema[] {
  return isFields(value) ? [value] : value === true ? [{}] : [];
}
