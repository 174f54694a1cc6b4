/**
 * Fields of records that only operators see, not the people of a tenant (docs/rules/console.md#live). A field is marked once,
 * where it is defined: every answer that has it leaves it out for a `user`.
 */
import * as z from "zod";

const FOR_OPERATORS = new WeakSet<z.ZodType>();

/** Marks a field: `schema` must be in the record's shape unchanged, and in no other field. */
export function forOperators<S extends z.ZodType>(schema: S): S {
  FOR_OPERATORS.add(schema);
  return schema;
}

export function isForOperators(schema: z.ZodType | undefined): boolean {
  return schema !== undefined && FOR_OPERATORS.has(schema);
}

/** A value that the schema describes, without the fields that only operators see and those that the schema does not name. */
export function withoutOperatorFields(schema: unknown, value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional)
    return withoutOperatorFields(schema.unwrap(), value);
  if (schema instanceof z.ZodArray && Array.isArray(value))
    return value.map((one) => withoutOperatorFields(schema.element, one));
  if (!(schema instanceof z.ZodObject)) return value;
  const shape: Readonly<Record<string, z.ZodType>> = schema.shape;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, field]) => {
      const known = Object.hasOwn(shape, name) ? shape[name] : undefined;
      return known === undefined || isForOperators(known) ? [] : [[name, withoutOperatorFields(known, field)]];
    }),
  );
}
