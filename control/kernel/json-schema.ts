/** JSON schemas of bodies, as far as somebody who looks at a body has to understand them. Pure. */
import { z } from "zod";

/** A JSON schema whose references are resolved. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
}

export type Fields = Readonly<Record<string, unknown>>;

/** Of what a schema takes. Without the names of components, which would make references of what is needed here as a whole. */
export function jsonSchemaOf(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, { io: "input", unrepresentable: "any", metadata: z.registry() });
}

/** The schema of each field that an object may have. */
export function propertiesOf(schema: JsonSchema): Fields {
  return Object.fromEntries(
    partsOf(schema).flatMap(({ properties }) => (isFields(properties) ? Object.entries(properties) : [])),
  );
}

/** A schema and what holds with it. Of several choices, the one with fields or items, if there is only one. */
export function partsOf(schema: JsonSchema): readonly JsonSchema[] {
  const { anyOf, allOf } = schema;
  const choices = schemasIn(anyOf).filter(({ properties, items }) => properties !== undefined || items !== undefined);
  return [schema, ...schemasIn(allOf).flatMap(partsOf), ...(choices.length === 1 ? choices.flatMap(partsOf) : [])];
}

/** False only for a value that the schema surely refuses. */
export function fits(schema: JsonSchema, value: unknown): boolean {
  const { type, const: only, enum: some, anyOf, required, properties } = schema;
  const types = (Array.isArray(type) ? type : [type]) as readonly unknown[];
  if (type !== undefined && !types.includes(typeOf(value)) && !(types.includes("integer") && Number.isInteger(value)))
    return false;
  if (Object.hasOwn(schema, "const") && isPlain(only) && only !== value) return false;
  if (Array.isArray(some) && some.every(isPlain) && !some.includes(value)) return false;
  if (!schemasIn(schema["allOf"]).every((one) => fits(one, value))) return false;
  if (Array.isArray(anyOf) && !schemasIn(anyOf).some((one) => fits(one, value))) return false;
  if (!isFields(value)) return true;
  if (Array.isArray(required) && required.some((name) => typeof name === "string" && !Object.hasOwn(value, name)))
    return false;
  return Object.entries(isFields(properties) ? properties : {}).every(
    ([name, inner]) => !Object.hasOwn(value, name) || !isFields(inner) || fits(inner, value[name]),
  );
}

/** A body of a creation without the nulls that its schema does not take: there, null is the default. */
export function withoutNulls(schema: JsonSchema, value: unknown): unknown {
  if (!isFields(value)) return value;
  const own = propertiesOf(schema);
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, inner]) => {
      const known = own[name];
      if (!isFields(known)) return [[name, inner]];
      return inner === null && !fits(known, null) ? [] : [[name, withoutNulls(known, inner)]];
    }),
  );
}

/** The schemas of a keyword that lists schemas. */
export function schemasIn(value: unknown): readonly JsonSchema[] {
  return Array.isArray(value) ? value.filter(isFields) : [];
}

/** True for a JSON object. */
export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function typeOf(value: unknown): string {
  return value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
}

function isPlain(value: unknown): boolean {
  return typeof value !== "object" || value === null;
}
