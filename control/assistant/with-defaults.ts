/**
 * What a body means where it leaves fields out (docs/rules/assistant.md#proposals): the Management API fills them with the
 * defaults of its document. Pure.
 */
import { type Fields, isFields, type JsonSchema, partsOf, propertiesOf } from "../kernel/json-schema.ts";

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
