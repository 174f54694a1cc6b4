/**
 * People who sign in to the console, on the Management API: record, filters and body (docs/rules/users.md).
 */
import * as z from "zod";
import { recordShape } from "../fields/field-table.ts";
import { USER_FIELDS, USER_ROLES, USER_STATUSES } from "../fields/user-fields.ts";
import { oneOf, queryText, revField, storedId } from "./common.ts";

export const userSchema = z.object({ ...recordShape(USER_FIELDS), rev: revField }).meta({ id: "User" });

export type User = z.infer<typeof userSchema>;

/** A user in the list. */
export const listedUserSchema = userSchema
  .extend({ tenant_name: z.string().nullable().meta({ description: "Name of the user's tenant" }) })
  .meta({ id: "ListedUser" });
export type ListedUser = z.infer<typeof listedUserSchema>;

/** Filters of GET /users besides paging. */
export const usersFilterSchema = z.object({
  status: oneOf(USER_STATUSES).optional(),
  q: queryText.meta({ description: "Part of the email or name, case-insensitive" }).optional(),
});

/** PATCH /users/{id}: what is omitted keeps its value. */
export const updateUserSchema = z
  .object({ status: oneOf(USER_STATUSES), role: oneOf(USER_ROLES), tenant_id: storedId.nullable() })
  .partial()
  .meta({ id: "UpdateUser" });
