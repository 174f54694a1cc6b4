/** The fields of an API key (docs/rules/keys.md#fields). No record shows the hash. */
import * as z from "zod";
import { BUDGET_FIELDS, ID_FIELD, TIME_FIELDS } from "./common-fields.ts";
import type { FieldTable } from "./field-table.ts";

export const KEY_FIELDS = {
  key_hash: { column: "text", unique: true, value: z.string(), record: false, hot: true },
  id: { ...ID_FIELD, hot: { key_id: z.string() } },
  tenant_id: { column: "uuid", value: z.string() },
  name: { column: "text", value: z.string(), hot: { key_name: z.string() } },
  description: { column: "text", value: z.string() },
  key_prefix: { column: "text", value: z.string(), hot: true },
  disabled: { column: "boolean", value: z.boolean(), hot: true },
  tracing_enabled: { column: "boolean", value: z.boolean(), hot: true },
  ...BUDGET_FIELDS,
  ...TIME_FIELDS,
} as const satisfies FieldTable;
