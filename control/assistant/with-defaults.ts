/**
 * What a body means where it leaves fields out (docs/rules/assistant.md#proposals): the Management API fills them with the
 * defaults of its document. Pure.
 */
import type { JsonSchema } from "./operations.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The fields at the top of a body that it leaves to their defaults. */
export function defaultFields(schema: JsonSchema | null, body: Fields): readonly (readonly [string, unknown])[] {
  return Object.entries(schema === null ? {} : propertiesOf(schema)).flatMap(([name, inner]) =>
    isFields(inner) && Object.hasOwn(inner, "default") && !Object.hasOwn(body, name)
      ? [[name, inner["default"]] as const]
      : [],
  );
}

/** A value with the defaults of everything that it leaves out, at every depth. */
export function withDefaults(schema: JsonSchema, value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = partsOf(schema).find((one) => isFields(one["items"]))?.["items"];
    return isFields(items) ? value.map((item: unknown) => withDefaults(items, item)) : value;
  }
  if (!isFields(value)) return value;
  const properties = propertiesOf(schema);
  const given = Object.entries(value).map(([name, inner]) => {
    const known = Object.hasOwn(properties, name) ? properties[name] : undefined;
    return [name, isFields(known) ? withDefaults(known, inner) : inner] as const;
  });
  return Object.fromEntries([...given, ...defaultFields(schema, value)]);
}

/** The schema of each field that an object may have. */
function propertiesOf(schema: JsonSchema): Fields {
  return Object.fromEntries(
    partsOf(schema).flatMap(({ properties }) => (isFields(properties) ? Object.entries(properties) : [])),
  );
}

/** A schema and what holds with it: of choices the one that has fields or items, where it is the only one. */
function partsOf(schema: JsonSchema): readonly JsonSchema[] {
  const { anyOf, allOf } = schema;
  const choices = schemasIn(anyOf).filter(({ properties, items }) => properties !== undefined || items !== undefined);
  return [schema, ...schemasIn(allOf).flatMap(partsOf), ...(choices.length === 1 ? choices.flatMap(partsOf) : [])];
}

function schemasIn(value: unknown): readonly JsonSchema[] {
  return Array.isArray(value) ? value.filter(isFields) : [];
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
