/**
 * The fields of a recipe: a template for the spec of a managed model (docs/rules/managed-models.md#recipes).
 */
import * as z from "zod";
import { ID_FIELD, TIME_FIELDS } from "./common-fields.ts";
import type { FieldTable } from "./field-table.ts";

export const RECIPE_FIELDS = {
  id: ID_FIELD,
  name: { column: "text", unique: true, value: z.string() },
  description: { column: "text", value: z.string() },
  author: { column: "text", value: z.string() },
  body: { column: "json", value: z.record(z.string(), z.unknown()) },
  ...TIME_FIELDS,
} as const satisfies FieldTable;
