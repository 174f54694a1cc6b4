/** Finds in a body the fields that its schema does not know, and refuses them. Pure. */
import { GatewayError } from "../../shared/errors.ts";
import { nearestName } from "../../shared/text/nearest-name.ts";
import { fits, isFields, type JsonSchema, propertiesOf, schemasIn } from "./json-schema.ts";

/** As many as a person reads, and as cost little to find. */
const NAMED_MAX = 20;
const NAME_MAX_CHARACTERS = 200;

type Path = readonly (string | number)[];

/** A field that a schema does not know, and the names that it knows in that place. */
interface UnknownField {
  readonly path: Path;
  readonly known: readonly string[];
}

/**
 * The fields, at any depth, that `schema` does not know. Where a value fits several choices, each of them must know its
 * fields, because it is not known here which one is taken. `under` is the place of the value in a larger one.
 */
export function unknownFields(schema: JsonSchema, value: unknown, under: Path = []): Iterable<UnknownField> {
  return unknownAt([schema], value, under);
}

/**
 * Throws 400 `unknown_field` that names the fields and what they were most likely meant to be, up to a number of them; `besides`: more
 * names of the outermost object.
 */
export function refuseUnknown(fields: Iterable<UnknownField>, besides: readonly string[] = []): void {
  const hints = new Map<string, string>();
  let count = 0;
  for (const { path, known } of fields) {
    if (count === NAMED_MAX) break;
    count += 1;
    const name = String(path.at(-1)).slice(0, NAME_MAX_CHARACTERS);
    const nearest = nearestName(name, path.length === 1 ? [...known, ...besides] : known);
    hints.set([...path.slice(0, -1), name].join("."), nearest === null ? "" : `; did you mean '${nearest}'?`);
  }
  const [first] = hints;
  if (first === undefined) return;
  throw new GatewayError("unknown_field", {
    value: `'${first[0]}'${first[1]}`,
    details: [...hints].map(([path, hint]) => ({ path, message: `is not a field${hint}` })),
  });
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
