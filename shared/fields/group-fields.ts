/**
 * The fields of a fairshare group (docs/rules/fairshare.md#groups). The data plane reads the weight from the copies of the
 * group's tenants. The time of the last change is not in a backup, because a restore is itself a change.
 */
import * as z from "zod";
import { TIME_FIELDS } from "./common-fields.ts";
import type { FieldTable } from "./field-table.ts";

export const GROUP_FIELDS = {
  name: { column: "text", value: z.string() },
  weight: { column: "integer", value: z.number().int() },
  ...TIME_FIELDS,
  updated_at: { ...TIME_FIELDS.updated_at, backup: false },
} as const satisfies FieldTable;
