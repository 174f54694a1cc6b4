/**
 * The fields of a person who signs in to the console (docs/rules/users.md#identity).
 */
import * as z from "zod";
import { ID_FIELD, shownTime, TIME_FIELDS } from "./common-fields.ts";
import type { FieldTable } from "./field-table.ts";
import { USER_ROLES, WIDE_ROLES } from "./roles.ts";

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
  /** The first tenant, in which `role` holds; null if there is none. */
  tenant_id: { column: "uuid", value: z.string().nullable() },
  /** What the groups of the provider gave at the last sign-in; null: nothing for every tenant. */
  group_role: { column: "text", value: z.enum(WIDE_ROLES).nullable() },
  last_login_at: { column: "instant", value: shownTime.nullable() },
  ...TIME_FIELDS,
} as const satisfies FieldTable;
