/**
 * The fields of a person who signs in to the console (docs/rules/users.md#identity).
 */
import * as z from "zod";
import { ID_FIELD, shownTime, TIME_FIELDS } from "./common-fields.ts";
import type { FieldTable } from "./field-table.ts";

export const USER_ROLES = ["admin", "user"] as const;
export const USER_STATUSES = ["pending", "active", "disabled"] as const;

export const USER_FIELDS = {
  id: ID_FIELD,
  email: { column: "text", unique: true, value: z.string() },
  name: { column: "text", value: z.string() },
  /** With `subject` the identity; `local` is the break-glass admin. */
  provider: { column: "text", value: z.string() },
  subject: { column: "text", value: z.string(), record: false },
  role: { column: "text", value: z.enum(USER_ROLES) },
  status: { column: "text", value: z.enum(USER_STATUSES) },
  /** The tenant that a `user` sees; null: none. */
  tenant_id: { column: "uuid", value: z.string().nullable() },
  last_login_at: { column: "instant", value: shownTime.nullable() },
  ...TIME_FIELDS,
} as const satisfies FieldTable;
